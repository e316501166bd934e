//! Which server certificates are trusted.
//!
//! Go accepts a certificate that is itself among the configured roots, be it a leaf or a self-signed
//! certificate that says it is an authority. rustls's verifier refuses both (kube-rs/kube#1767), so it
//! is asked first and overruled for exactly these two answers.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::{Cause, ConfigError};

/// Reads the certificates of a PEM file; other blocks and certificates that cannot be used as a root are
/// skipped, as Go does, but none at all is an error.
pub(super) fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<Vec<u8>>, ConfigError> {
    let mut store = RootCertStore::empty();
    let usable: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .filter(|certificate| store.add(certificate.clone()).is_ok())
        .map(|certificate| certificate.to_vec())
        .collect();
    if usable.is_empty() {
        return Err(ConfigError::BadData {
            what,
            source: Cause("it holds no certificate in PEM that can be used".to_owned()),
        });
    }
    Ok(usable)
}

/// rustls's verifier, which also takes a certificate that is byte-equal to a configured root.
#[derive(Debug)]
pub(super) struct PinningVerifier {
    webpki: Arc<WebPkiServerVerifier>,
    roots: Vec<Vec<u8>>,
}

impl PinningVerifier {
    pub(super) fn new(roots: &[Vec<u8>]) -> Result<Self, ConfigError> {
        let failed = |source: Cause| ConfigError::BadData {
            what: "certificate authority",
            source,
        };
        let mut store = RootCertStore::empty();
        for root in roots {
            store
                .add(CertificateDer::from(root.as_slice()).into_owned())
                .map_err(|error| failed(Cause::of(&error)))?;
        }
        let webpki = WebPkiServerVerifier::builder(Arc::new(store))
            .build()
            .map_err(|error| failed(Cause::of(&error)))?;
        Ok(Self {
            webpki,
            roots: roots.to_vec(),
        })
    }

    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> bool {
        self.roots
            .iter()
            .any(|root| root.as_slice() == certificate.as_ref())
    }
}

/// Returns whether the verifier's only objection is the place of the certificate in the chain. webpki
/// checks the dates before it can give either answer (rustls-webpki 0.103 `verify_cert.rs`).
fn objects_to_position_only(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(error) = error else {
        return false;
    };
    if let CertificateError::Other(other) = error {
        // webpki's type is not public here; should its name change, the certificate is refused.
        return other.to_string().contains("CaUsedAsEndEntity");
    }
    *error == CertificateError::UnknownIssuer
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = self.webpki.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            Err(error) if objects_to_position_only(&error) && self.is_pinned(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            Ok(_) | Err(_) => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}
