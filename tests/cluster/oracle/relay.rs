//! A proxy that notes what it is asked for: HTTP with and without CONNECT, and SOCKS5, on one port.
//!
//! Whatever host is asked for, it connects to that port on loopback: only it resolves names, as a proxy in a
//! closed network does.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// How the proxy was asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Proxied {
    pub(crate) how: How,
    /// Host and port.
    pub(crate) target: String,
    /// `Proxy-Authorization`, or user and password of SOCKS5; empty without.
    pub(crate) login: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// A tunnel.
    Connect,
    /// `GET http://host/…`.
    Absolute,
    /// SOCKS5 with a host name.
    SocksName,
    /// SOCKS5 with an address.
    SocksAddress,
}

/// A running proxy. It ends with the test process.
pub(crate) struct Relay {
    address: String,
    seen: Arc<Mutex<BTreeSet<Proxied>>>,
}

impl Relay {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound").to_string();
        let seen: Arc<Mutex<BTreeSet<Proxied>>> = Arc::default();
        let noted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                // A client may break off at any time; then nothing was asked.
                std::thread::spawn(move || serve(client, &noted));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns what was asked since the last call.
    pub(crate) fn take(&self) -> BTreeSet<Proxied> {
        std::mem::take(&mut self.seen.lock().expect("no thread has panicked"))
    }
}

fn serve(mut client: TcpStream, seen: &Mutex<BTreeSet<Proxied>>) -> std::io::Result<()> {
    let mut first = [0];
    client.read_exact(&mut first)?;
    let (proxied, sent) = if first == [5] {
        (socks(&mut client)?, Vec::new())
    } else {
        http(&mut client, first[0])?
    };
    let port = proxied
        .target
        .rsplit_once(':')
        .map_or("80", |(_, port)| port);
    let mut server = TcpStream::connect(format!("127.0.0.1:{port}"))?;
    seen.lock().expect("no thread has panicked").insert(proxied);
    server.write_all(&sent)?;
    let pairs = [(client.try_clone()?, server.try_clone()?), (server, client)];
    for (mut from, mut to) in pairs {
        std::thread::spawn(move || {
            // Either side may end the connection at any time.
            let _carried = std::io::copy(&mut from, &mut to);
            let _closed = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

/// Reads the head of a request; returns what is to be sent on.
fn http(client: &mut TcpStream, first: u8) -> std::io::Result<(Proxied, Vec<u8>)> {
    let mut head = vec![first];
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let target = text.split(' ').nth(1).unwrap_or_default();
    let login = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"))
        .map(|(_, value)| value.to_owned())
        .unwrap_or_default();
    if text.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        let proxied = Proxied {
            how: How::Connect,
            target: target.to_owned(),
            login,
        };
        return Ok((proxied, Vec::new()));
    }
    let host = target
        .split_once("://")
        .map(|(_, rest)| rest.split('/').next().unwrap_or(rest))
        .unwrap_or_default();
    let proxied = Proxied {
        how: How::Absolute,
        target: host.to_owned(),
        login,
    };
    Ok((proxied, head))
}

/// RFC 1928 with the user and password of RFC 1929.
fn socks(client: &mut TcpStream) -> std::io::Result<Proxied> {
    let methods = counted(client)?;
    let login = if methods.contains(&2) {
        client.write_all(&[5, 2])?;
        let mut version = [0];
        client.read_exact(&mut version)?;
        let user = counted(client)?;
        let password = counted(client)?;
        client.write_all(&[1, 0])?;
        format!(
            "{}:{}",
            String::from_utf8_lossy(&user),
            String::from_utf8_lossy(&password)
        )
    } else {
        client.write_all(&[5, 0])?;
        String::new()
    };
    let mut request = [0; 4];
    client.read_exact(&mut request)?;
    let (how, host) = match request[3] {
        3 => (
            How::SocksName,
            String::from_utf8_lossy(&counted(client)?).into_owned(),
        ),
        _ => {
            let mut address = [0; 4];
            client.read_exact(&mut address)?;
            (
                How::SocksAddress,
                address.map(|part| part.to_string()).join("."),
            )
        }
    };
    let mut port = [0; 2];
    client.read_exact(&mut port)?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    Ok(Proxied {
        how,
        target: format!("{host}:{}", u16::from_be_bytes(port)),
        login,
    })
}

/// Reads a length and that many bytes.
fn counted(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0];
    client.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::from(length[0])];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}
