//! The way to a server without TLS through an HTTP proxy.
//!
//! Go asks the proxy for the whole URL (`GET http://host/…`, net/http `Transport`), not for a tunnel: many
//! proxies allow tunnels to port 443 alone.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower::{BoxError, Service};

/// Returns whether a proxy is asked for whole URLs instead of a tunnel.
pub(super) fn is_forwarded(server: &Uri, proxy: &Uri) -> bool {
    server.scheme_str() == Some("http") && proxy.scheme_str() == Some("http")
}

/// Connects to the proxy, whatever host is asked for.
#[derive(Clone)]
pub(super) struct Forward {
    proxy: Uri,
    inner: HttpConnector,
}

impl Forward {
    pub(super) const fn new(proxy: Uri, inner: HttpConnector) -> Self {
        Self { proxy, inner }
    }
}

impl Service<Uri> for Forward {
    type Response = TokioIo<ToProxy>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, _server: Uri) -> Self::Future {
        let connecting = self.inner.call(self.proxy.clone());
        Box::pin(async move {
            let stream = connecting.await?.into_inner();
            Ok(TokioIo::new(ToProxy(stream)))
        })
    }
}

/// A connection of which hyper must know that a proxy reads it.
pub(super) struct ToProxy(TcpStream);

impl Connection for ToProxy {
    fn connected(&self) -> Connected {
        self.0.connected().proxy(true)
    }
}

impl AsyncRead for ToProxy {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for ToProxy {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
