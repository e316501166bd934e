//! An HTTP/1.1 server on loopback that answers as a test tells it and writes down what it was asked.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Nothing here outlives a test by more than this.
const LONGEST: Duration = Duration::from_secs(20);

/// The time that every answer carries, unless it says otherwise.
pub(crate) const DATE: &str = "Fri, 02 Jan 2026 03:04:05 GMT";

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    /// Names in lower case; repeated headers one after the other.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// What the client showed of itself, and whom it expected, when it came over TLS.
    pub(crate) tls: Shown,
}

/// What a TLS client lets its server see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// The client's own certificate, in DER.
    pub(crate) certificate: Option<Vec<u8>>,
    /// The host name that it asked for.
    pub(crate) server_name: Option<String>,
}

impl Asked {
    /// Returns the body as JSON; null if it is none.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }
}

/// What is sent back.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    way: Way,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    /// The connection breaks in the middle of the body.
    Cut,
    /// Nothing comes, and the connection stays open.
    Silence,
    /// It takes this long.
    Slow(Duration),
    /// It comes, and the connection stays open for more.
    Open,
}

impl Reply {
    pub(crate) fn json(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: vec![
                ("Content-Type".to_owned(), "application/json".to_owned()),
                ("Date".to_owned(), DATE.to_owned()),
            ],
            body: body.into().into_bytes(),
            way: Way::Whole,
        }
    }

    /// A list with these objects; an empty token ends it.
    pub(crate) fn list(objects: &[&str], token: &str) -> Self {
        Self::json(
            200,
            format!(
                r#"{{"kind":"SomeList","apiVersion":"v1","metadata":{{"resourceVersion":"7","continue":"{token}"}},"items":[{}]}}"#,
                objects.join(",")
            ),
        )
    }

    pub(crate) fn empty() -> Self {
        Self::list(&[], "")
    }

    /// A `Status` object, as the API server refuses with.
    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::json(
            code,
            serde_json::json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": message, "reason": reason, "code": code,
            })
            .to_string(),
        )
    }

    pub(crate) fn forbidden() -> Self {
        Self::status(403, "Forbidden", "it is forbidden")
    }

    pub(crate) fn silence() -> Self {
        Self {
            way: Way::Silence,
            ..Self::empty()
        }
    }

    /// A watch that tells of these changes and goes on.
    pub(crate) fn watch(changes: &[&str]) -> Self {
        let body: String = changes.iter().map(|change| format!("{change}\n")).collect();
        Self {
            way: Way::Open,
            ..Self::json(200, body)
        }
    }

    /// A watch that tells of these changes and ends, as watches do.
    pub(crate) fn ended_watch(changes: &[&str]) -> Self {
        Self {
            way: Way::Whole,
            ..Self::watch(changes)
        }
    }

    pub(crate) fn cut(self) -> Self {
        Self {
            way: Way::Cut,
            ..self
        }
    }

    pub(crate) fn after(self, pause: Duration) -> Self {
        Self {
            way: Way::Slow(pause),
            ..self
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Compresses the body, whether the client can read that or not.
    pub(crate) fn gzip(mut self) -> Self {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&self.body).unwrap();
        self.body = encoder.finish().unwrap();
        self.header("Content-Encoding", "gzip")
    }

    pub(crate) fn without_date(mut self) -> Self {
        self.headers.retain(|(known, _)| known != "Date");
        self
    }
}

type Handler = dyn Fn(&Asked) -> Reply + Send + Sync;

/// What the server shows to a TLS client, as PEM.
pub(crate) struct Identity {
    pub(crate) certificate: &'static str,
    pub(crate) key: &'static str,
    /// The authority that clients must be signed by.
    pub(crate) client_authority: Option<&'static str>,
}

/// The server. It ends with the process; each connection ends with its client.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    asked: Arc<Mutex<Vec<Asked>>>,
    most_in_flight: Arc<AtomicUsize>,
}

struct Shared {
    handler: Box<Handler>,
    asked: Arc<Mutex<Vec<Asked>>>,
    in_flight: AtomicUsize,
    most_in_flight: Arc<AtomicUsize>,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Server {
    pub(crate) fn http(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Box::new(handler), None)
    }

    pub(crate) fn https(
        identity: &Identity,
        handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let config = tls(identity, ClientAuth::Required);
        Self::start(Box::new(handler), Some(Arc::new(config)))
    }

    /// Asks clients for a certificate of the authority and takes those without one too, as API servers do.
    pub(crate) fn https_asking(
        identity: &Identity,
        handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let config = tls(identity, ClientAuth::Asked);
        Self::start(Box::new(handler), Some(Arc::new(config)))
    }

    fn start(handler: Box<Handler>, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            scheme: if tls.is_some() { "https" } else { "http" },
            asked: Arc::default(),
            most_in_flight: Arc::default(),
        };
        let shared = Arc::new(Shared {
            handler,
            asked: Arc::clone(&server.asked),
            in_flight: AtomicUsize::new(0),
            most_in_flight: Arc::clone(&server.most_in_flight),
            tls,
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &shared));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn most_in_flight(&self) -> usize {
        self.most_in_flight.load(Ordering::SeqCst)
    }
}

/// Returns an address of loopback where nobody listens.
pub(crate) fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// What becomes of a client without a certificate, where there is an authority for them.
#[derive(Clone, Copy)]
enum ClientAuth {
    Required,
    Asked,
}

fn tls(identity: &Identity, auth: ClientAuth) -> rustls::ServerConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match identity.client_authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = rustls::RootCertStore::empty();
            roots
                .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
                .unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots),
                provider,
            );
            let verifier = match auth {
                ClientAuth::Required => verifier,
                ClientAuth::Asked => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    builder
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap(),
        )
        .unwrap()
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    stream.set_read_timeout(Some(LONGEST)).unwrap();
    stream.set_write_timeout(Some(LONGEST)).unwrap();
    let Some(tls) = &shared.tls else {
        talk(stream, shared, &Shown::default());
        return;
    };
    let mut connection = rustls::ServerConnection::new(Arc::clone(tls)).unwrap();
    while connection.is_handshaking() {
        // A client that refuses the certificate ends the connection here.
        let Ok((1.., _) | (_, 1..)) = connection.complete_io(&mut stream) else {
            return;
        };
    }
    let shown = Shown {
        certificate: connection
            .peer_certificates()
            .and_then(<[_]>::first)
            .map(|certificate| certificate.to_vec()),
        server_name: connection.server_name().map(str::to_owned),
    };
    talk(rustls::StreamOwned::new(connection, stream), shared, &shown);
}

/// Answers requests until the client closes, or the answer is to break off.
fn talk(stream: impl Read + Write, shared: &Shared, shown: &Shown) {
    let mut stream = BufReader::new(stream);
    while let Some(mut asked) = read_request(&mut stream) {
        asked.tls = shown.clone();
        shared.asked.lock().unwrap().push(asked.clone());
        let now = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_in_flight.fetch_max(now, Ordering::SeqCst);
        let reply = (shared.handler)(&asked);
        if let Way::Slow(pause) = reply.way {
            thread::sleep(pause);
        }
        shared.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !answer(&mut stream, &reply) {
            return;
        }
    }
}

fn read_request(stream: &mut impl std::io::BufRead) -> Option<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let method = words.next()?.to_owned();
    let target = words.next()?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, length)| length.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Asked {
        method,
        path: path.to_owned(),
        query: query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decode(value)))
            .collect(),
        headers,
        tls: Shown::default(),
        body,
    })
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let pair = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(pair, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Sends an answer; returns whether the connection goes on.
fn answer<S: Read + Write>(stream: &mut BufReader<S>, reply: &Reply) -> bool {
    if matches!(reply.way, Way::Silence) {
        // Ends when the client closes the connection.
        let _end = stream.fill_buf().map(<[u8]>::len);
        return false;
    }
    let headers: String = reply
        .headers
        .iter()
        .map(|(name, value)| {
            [
                name, ": ", value, "
",
            ]
            .concat()
        })
        .collect();
    if matches!(reply.way, Way::Open) {
        let head = format!(
            "HTTP/1.1 {} Some Words\r\n{headers}Transfer-Encoding: chunked\r\n\r\n",
            reply.status
        );
        let mut sent = head.into_bytes();
        // A chunk of no length would end the answer.
        if !reply.body.is_empty() {
            sent.extend(format!("{:x}\r\n", reply.body.len()).into_bytes());
            sent.extend(&reply.body);
            sent.extend(b"\r\n");
        }
        let written = stream.get_mut().write_all(&sent);
        if written.and_then(|()| stream.get_mut().flush()).is_ok() {
            let _end = stream.fill_buf().map(<[u8]>::len);
        }
        return false;
    }
    let head = format!(
        "HTTP/1.1 {} Some Words\r\n{headers}Content-Length: {}\r\n\r\n",
        reply.status,
        reply.body.len()
    );
    let is_cut = matches!(reply.way, Way::Cut);
    let body = if is_cut {
        &reply.body[..reply.body.len() / 2]
    } else {
        &reply.body
    };
    let sent = stream
        .get_mut()
        .write_all(&[head.as_bytes(), body].concat())
        .and_then(|()| stream.get_mut().flush());
    sent.is_ok() && !is_cut
}
