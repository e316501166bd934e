//! The way through a proxy to a TLS server.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::tls::{AUTHORITY, SERVER, SERVER_KEY, authority, read, server};
use crate::collect::test_server::{Reply, Server};

/// Carries bytes both ways until one side closes.
fn carry(client: TcpStream, target: &str) {
    let server = TcpStream::connect(target).unwrap();
    let pairs = [
        (client.try_clone().unwrap(), server.try_clone().unwrap()),
        (server, client),
    ];
    for (mut from, mut to) in pairs {
        thread::spawn(move || {
            // Either side may end the connection at any time.
            let _carried = std::io::copy(&mut from, &mut to);
            let _closed = to.shutdown(std::net::Shutdown::Both);
        });
    }
}

fn listen(handshake: fn(&mut TcpStream) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                let target = handshake(&mut client);
                carry(client, &target);
            });
        }
    });
    address
}

fn http_handshake(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    let head = String::from_utf8(head).unwrap();
    head.split(' ').nth(1).unwrap().to_owned()
}

/// RFC 1928 with the user and password of RFC 1929, an IPv4 target only.
fn socks_handshake(client: &mut TcpStream) -> String {
    fn take<const N: usize>(client: &mut TcpStream) -> [u8; N] {
        let mut bytes = [0; N];
        client.read_exact(&mut bytes).unwrap();
        bytes
    }
    assert_eq!(
        take::<3>(client),
        [5, 1, 2],
        "user and password are offered"
    );
    client.write_all(&[5, 2]).unwrap();
    assert_eq!(&take::<9>(client), b"\x01\x02me\x04p@ss");
    client.write_all(&[1, 0]).unwrap();
    assert_eq!(
        take::<4>(client),
        [5, 1, 0, 1],
        "connect to an IPv4 address"
    );
    let [a, b, c, d, high, low] = take::<6>(client);
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    format!("{a}.{b}.{c}.{d}:{}", u16::from_be_bytes([high, low]))
}

#[tokio::test]
async fn a_reading_goes_through_a_proxy() {
    for (scheme, login, address) in [
        ("http", "", listen(http_handshake)),
        ("socks5", "me:p%40ss@", listen(socks_handshake)),
        ("socks5h", "me:p%40ss@", listen(socks_handshake)),
    ] {
        let server = server(SERVER, SERVER_KEY);
        let cluster = format!(
            "{}, proxy-url: '{scheme}://{login}{address}'",
            authority(AUTHORITY)
        );
        assert_eq!(read(&server, &cluster, "").await, Ok(()), "{scheme}");
        assert!(!server.asked().is_empty());
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel_with_its_login() {
    // The proxy refuses, which shows that it was asked, and how.
    let proxy = Server::http(|_| Reply::status(403, "Forbidden", "no"));
    let server = server(SERVER, SERVER_KEY);
    let cluster = format!(
        "{}, proxy-url: 'http://me:p%40ss@{}'",
        authority(AUTHORITY),
        proxy.address()
    );
    let error = read(&server, &cluster, "").await.unwrap_err();
    assert!(!error.contains("p%40ss"), "{error}");
    let asked = &proxy.asked()[0];
    assert_eq!(asked.method, "CONNECT");
    assert_eq!(asked.path, server.address());
    let login = format!("Basic {}", BASE64.encode("me:p@ss"));
    assert_eq!(asked.header("proxy-authorization"), Some(login.as_str()));
    assert!(server.asked().is_empty());
}
