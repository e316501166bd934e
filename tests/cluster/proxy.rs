//! A proxy in front of the API server, which counts what passes and can change the time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use jiff::SignedDuration;
use kube::client::Body;

/// Between two looks whether a watch is to be cut off.
const LOOK_EACH: Duration = Duration::from_millis(50);

/// A request that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) user_agent: String,
    /// What was sent with it; empty for a GET.
    pub(crate) body: String,
    /// The status of the answer.
    pub(crate) status: u16,
    pub(crate) answer_bytes: usize,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is passed on.
    Pass,
    /// The connection is closed instead, as if nobody were there.
    Drop,
}

/// Decides about each request before it is passed on, by method and target. It may take its time.
type Gate = dyn Fn(&str, &str) -> Fate + Send + Sync;

/// A running proxy. It ends with the test process.
pub(crate) struct Proxy {
    url: String,
    state: Arc<State>,
}

struct State {
    upstream: String,
    token: String,
    /// Added to the server's time.
    skew: SignedDuration,
    seen: Mutex<Vec<Seen>>,
    gate: Mutex<Option<Arc<Gate>>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    /// How often all watches were cut off.
    cuts: AtomicUsize,
}

impl Proxy {
    /// Starts a proxy in front of a server, whose clock shows `skew` more. It logs in itself, as `kubectl
    /// proxy` does: without TLS, kubectl and the plugin send no credentials.
    pub(crate) fn start(upstream: &str, token: &str, skew: SignedDuration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let state = Arc::new(State {
            upstream: upstream.to_owned(),
            token: token.to_owned(),
            skew,
            seen: Mutex::default(),
            gate: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
            cuts: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(&connection));
            }
        });
        Self { url, state }
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the requests since the last call, in the order in which they were answered.
    pub(crate) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.state.seen.lock().expect("no thread has panicked"))
    }

    /// Returns the requests so far, and keeps them.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state
            .seen
            .lock()
            .expect("no thread has panicked")
            .clone()
    }

    /// Puts a gate before the server: it is asked about each request before that is passed on.
    pub(crate) fn gate(&self, gate: impl Fn(&str, &str) -> Fate + Send + Sync + 'static) {
        *self.state.gate.lock().expect("no thread has panicked") = Some(Arc::new(gate));
    }

    /// Closes the connections of all watches that are under way.
    pub(crate) fn cut(&self) {
        self.state.cuts.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how many requests were under way at once, at most; a watch is one until it is granted.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.state.most_in_flight.load(Ordering::SeqCst)
    }
}

/// The head and body of a request.
struct Asked {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    }
}

impl State {
    /// Serves a connection until its client closes it.
    fn serve(&self, connection: &TcpStream) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let client = {
            let _context = runtime.enter();
            let mut config = kube::Config::new(self.upstream.parse().expect("the URL is ours"));
            config.accept_invalid_certs = true;
            config.auth_info.token = Some(self.token.clone().into());
            config.proxy_url = None;
            kube::Client::try_from(config).expect("the configuration is ours")
        };
        let mut reader = BufReader::new(connection);
        while let Some(asked) = read(&mut reader) {
            let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_in_flight.fetch_max(now, Ordering::SeqCst);
            let gate = self.gate.lock().expect("no thread has panicked").clone();
            let fate = gate.map_or(Fate::Pass, |gate| gate(&asked.method, &asked.target));
            if fate == Fate::Drop {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
                return;
            }
            if asked.target.contains("watch=true") {
                // What has gone wrong shows in the closed connection.
                let _ended = runtime.block_on(self.stream(&client, &asked, connection));
                return;
            }
            let answer = runtime.block_on(self.forward(&client, &asked));
            self.in_flight.fetch_sub(1, Ordering::SeqCst);
            let (status, head, body) = answer.expect("the API server answers");
            self.seen
                .lock()
                .expect("no thread has panicked")
                .push(Seen {
                    method: asked.method.clone(),
                    target: asked.target.clone(),
                    user_agent: asked.header("user-agent").to_owned(),
                    body: String::from_utf8_lossy(&asked.body).into_owned(),
                    status,
                    answer_bytes: body.len(),
                });
            let mut out = connection;
            if out
                .write_all(head.as_bytes())
                .and_then(|()| out.write_all(&body))
                .is_err()
            {
                return;
            }
        }
    }

    /// Passes a watch on, chunk by chunk, until either side ends it or it is cut off.
    async fn stream(
        &self,
        client: &kube::Client,
        asked: &Asked,
        mut connection: &TcpStream,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let cuts = self.cuts.load(Ordering::SeqCst);
        let request = Request::get(&asked.target).header("accept", asked.header("accept"));
        let response = client.send(request.body(Body::empty())?).await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        let (head, body) = response?.into_parts();
        self.seen
            .lock()
            .expect("no thread has panicked")
            .push(Seen {
                method: asked.method.clone(),
                target: asked.target.clone(),
                user_agent: asked.header("user-agent").to_owned(),
                body: String::new(),
                status: head.status.as_u16(),
                answer_bytes: 0,
            });
        write!(
            connection,
            "HTTP/1.1 {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            head.status
        )?;
        let mut chunks = std::pin::pin!(body.into_data_stream());
        loop {
            match tokio::time::timeout(LOOK_EACH, chunks.next()).await {
                Ok(Some(chunk)) => {
                    let chunk = chunk?;
                    write!(connection, "{:x}\r\n", chunk.len())?;
                    connection.write_all(&chunk)?;
                    connection.write_all(b"\r\n")?;
                }
                Ok(None) => {
                    connection.write_all(b"0\r\n\r\n")?;
                    return Ok(());
                }
                Err(_elapsed) if self.cuts.load(Ordering::SeqCst) != cuts => return Ok(()),
                Err(_elapsed) => {}
            }
        }
    }

    async fn forward(
        &self,
        client: &kube::Client,
        asked: &Asked,
    ) -> Result<(u16, String, Vec<u8>), Box<dyn std::error::Error>> {
        let mut request = Request::builder()
            .method(Method::from_bytes(asked.method.as_bytes())?)
            .uri(&asked.target);
        for name in ["accept", "content-type", "user-agent"] {
            let value = asked.header(name);
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        let response = client
            .send(request.body(Body::from(asked.body.clone()))?)
            .await?;
        let (head, body) = response.into_parts();
        let bytes = body.collect_bytes().await?.to_vec();
        let mut lines = vec![
            format!("HTTP/1.1 {}", head.status),
            format!("content-length: {}", bytes.len()),
        ];
        for (name, value) in &head.headers {
            let value = value.to_str()?;
            match name.as_str() {
                "date" => lines.push(format!("date: {}", self.moved(value)?)),
                "content-type" | "retry-after" | "warning" => {
                    lines.push(format!("{name}: {value}"));
                }
                _ => {}
            }
        }
        Ok((head.status.as_u16(), lines.join("\r\n") + "\r\n\r\n", bytes))
    }

    fn moved(&self, date: &str) -> Result<String, Box<dyn std::error::Error>> {
        let time = jiff::fmt::rfc2822::parse(date)?.checked_add(self.skew)?;
        Ok(jiff::fmt::rfc2822::DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&time.timestamp())?)
    }
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut asked = Asked {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    asked.body = vec![0; asked.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut asked.body).ok()?;
    Some(asked)
}
