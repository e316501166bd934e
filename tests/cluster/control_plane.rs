//! A control plane on loopback, shared by all tests of the binary.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::api::Api;
use crate::etcd::Etcd;
use crate::plugin::User;
use crate::programs::Program;
use crate::proxy::Proxy;
use crate::reaper::Reaper;

/// Which control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plane {
    /// etcd and kube-apiserver; KWOK serves pod logs and manages nothing. What is laid there stays as it
    /// is.
    Still,
    /// Also kube-controller-manager and kube-scheduler, and KWOK plays the kubelet of every node.
    Alive,
}

/// The longest that a control plane may take to be ready. On an idle machine it takes some 5 s.
const START_LIMIT: Duration = Duration::from_secs(600);
/// Between two looks.
const LOOK_EACH: Duration = Duration::from_millis(100);
/// The longest that a change may take to show.
const CHANGE_LIMIT: Duration = Duration::from_secs(300);

/// The administrator's token. Whoever can reach the loopback address may as well read it here.
const ADMIN_TOKEN: &str = "administrator-of-a-control-plane-for-tests";

/// A running control plane.
pub(crate) struct ControlPlane {
    url: String,
    authority: PathBuf,
    api: Api,
    etcd: Etcd,
    kubelet_port: u16,
    pod_log: PathBuf,
    // Last, so that nothing outlives what it needs. Never dropped in a static: its pipe closes when the
    // process ends.
    reaper: Reaper,
}

/// A control plane that no other test uses at the same time.
pub(crate) struct Locked {
    plane: &'static ControlPlane,
    _guard: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Locked {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        self.plane
    }
}

impl Plane {
    /// Returns the running control plane, started by the first who asks.
    pub(crate) fn get(self) -> &'static ControlPlane {
        static STILL: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        static ALIVE: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        let cell = match self {
            Self::Still => &STILL,
            Self::Alive => &ALIVE,
        };
        cell.get_or_init(|| match ControlPlane::start(self) {
            // Somebody else on this machine took a port between its choice and its use.
            Err(error) if error.contains("address already in use") => ControlPlane::start(self),
            started => started,
        })
        .as_ref()
        .unwrap_or_else(|error| panic!("no control plane: {error}"))
    }

    /// Returns the running control plane, empty, for one test at a time.
    pub(crate) fn lock(self) -> Locked {
        static STILL: Mutex<()> = Mutex::new(());
        static ALIVE: Mutex<()> = Mutex::new(());
        let lock = match self {
            Self::Still => &STILL,
            Self::Alive => &ALIVE,
        };
        // Another test has failed while it held the lock; what it left is cleared away here.
        let guard = lock
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let plane = self.get();
        if self == Self::Still {
            plane.etcd.clear();
        }
        Locked {
            plane,
            _guard: guard,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Still => "still",
            Self::Alive => "alive",
        }
    }
}

/// The files that programs are started with.
struct Files {
    kubeconfig: PathBuf,
    tokens: PathBuf,
    certificates: PathBuf,
    kwok: PathBuf,
    pod_log: PathBuf,
    etcd: PathBuf,
}

struct Ports {
    etcd: u16,
    etcd_peer: u16,
    api: u16,
    kubelet: u16,
}

impl Ports {
    /// Lets the system pick ports that are free now.
    fn pick() -> Self {
        let listeners: [TcpListener; 4] = std::array::from_fn(|_| {
            TcpListener::bind("127.0.0.1:0").expect("loopback has free ports")
        });
        let [etcd, etcd_peer, api, kubelet] =
            listeners.map(|listener| listener.local_addr().expect("it is bound").port());
        Self {
            etcd,
            etcd_peer,
            api,
            kubelet,
        }
    }
}

impl ControlPlane {
    fn start(plane: Plane) -> Result<Self, String> {
        let began = Instant::now();
        let logs =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("control-plane-{}", plane.name()));
        let mut reaper = Reaper::new(logs.clone());
        let ports = Ports::pick();
        let url = format!("https://127.0.0.1:{}", ports.api);
        let files = Files::write(reaper.data(), &url);
        let api = Api::new(&url, Some(ADMIN_TOKEN));
        let etcd = Etcd::new(&format!("http://127.0.0.1:{}", ports.etcd));

        let deadline = began + START_LIMIT;
        reaper.start(&Program::Etcd.path()?, &etcd_flags(&files, &ports))?;
        // etcd makes a key for its peers at its start; the API server signs tokens with it.
        let key = files.etcd.join("fixtures/peer/key.pem");
        wait(&mut reaper, deadline, "etcd", || key.is_file())?;
        reaper.start(
            &Program::ApiServer.path()?,
            &api_server_flags(&files, &ports, &key),
        )?;
        wait(&mut reaper, deadline, "kube-apiserver", || {
            api.send(&Method::GET, "/readyz", "application/json", Vec::new())
                .is_ok_and(|answer| answer.status.is_success())
        })?;
        for (program, flags) in followers(plane, &files, &ports) {
            reaper.start(&program.path()?, &flags)?;
        }
        let control_plane = Self {
            url,
            authority: files.certificates.join("apiserver.crt"),
            api,
            etcd,
            kubelet_port: ports.kubelet,
            pod_log: files.pod_log,
            reaper,
        };
        control_plane.install_crds();
        eprintln!(
            "control plane ({}) ready after {:.1} s; logs in {}",
            plane.name(),
            began.elapsed().as_secs_f64(),
            logs.display()
        );
        Ok(control_plane)
    }

    /// Returns the API server, as an administrator.
    pub(crate) const fn api(&self) -> &Api {
        &self.api
    }

    /// Returns the store below the API server.
    pub(crate) const fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// Returns the URL of the API server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the file of the certificate authority of the API server.
    pub(crate) fn authority(&self) -> &Path {
        &self.authority
    }

    /// Returns the token of the administrator.
    pub(crate) const fn token(&self) -> &'static str {
        ADMIN_TOKEN
    }

    /// Returns the port at which KWOK answers as a kubelet.
    pub(crate) const fn kubelet_port(&self) -> u16 {
        self.kubelet_port
    }

    /// Returns the file that KWOK serves as the log of every container.
    pub(crate) fn pod_log(&self) -> &Path {
        &self.pod_log
    }

    /// Starts a proxy in front of the API server, and returns it with a user whose requests pass through it.
    pub(crate) fn behind_proxy(&self, skew: SignedDuration) -> (Proxy, User) {
        let proxy = Proxy::start(&self.url, ADMIN_TOKEN, skew);
        let mut kubeconfig = self.kubeconfig();
        kubeconfig["clusters"][0]["cluster"] = json!({"server": proxy.url()});
        let user = User::new(&kubeconfig);
        (proxy, user)
    }

    /// The same for whoever holds a token.
    pub(crate) fn behind_proxy_as(&self, token: &str) -> (Proxy, User) {
        let proxy = Proxy::start(&self.url, token, SignedDuration::ZERO);
        let mut kubeconfig = self.kubeconfig();
        kubeconfig["clusters"][0]["cluster"] = json!({"server": proxy.url()});
        let user = User::new(&kubeconfig);
        (proxy, user)
    }

    /// Returns a kubeconfig of the administrator.
    pub(crate) fn kubeconfig(&self) -> Value {
        self.kubeconfig_of(ADMIN_TOKEN)
    }

    /// Returns a kubeconfig of whoever holds a token.
    pub(crate) fn kubeconfig_of(&self, token: &str) -> Value {
        kubeconfig(&self.url, &self.authority, token)
    }

    /// Waits until something is so.
    pub(crate) fn wait_for(&self, what: &str, mut so: impl FnMut() -> bool) {
        let deadline = Instant::now() + CHANGE_LIMIT;
        while !so() {
            assert!(
                Instant::now() < deadline,
                "{what}: not within {} s\n{}",
                CHANGE_LIMIT.as_secs(),
                self.reaper.last_words()
            );
            std::thread::sleep(LOOK_EACH);
        }
    }

    fn install_crds(&self) {
        for crd in crate::crds::all() {
            self.api.post(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                &crd,
            );
        }
        for crd in crate::crds::all() {
            let text = |pointer: &str| {
                crd.pointer(pointer)
                    .and_then(Value::as_str)
                    .expect("a CRD has it")
                    .to_owned()
            };
            let path = format!(
                "/apis/{}/{}/{}",
                text("/spec/group"),
                text("/spec/versions/0/name"),
                text("/spec/names/plural")
            );
            self.wait_for(&format!("GET {path}"), || {
                self.api
                    .send(&Method::GET, &path, "application/json", Vec::new())
                    .is_ok_and(|answer| answer.status.is_success())
            });
        }
    }
}

fn wait(
    reaper: &mut Reaper,
    deadline: Instant,
    what: &str,
    mut ready: impl FnMut() -> bool,
) -> Result<(), String> {
    while !ready() {
        reaper.check()?;
        if Instant::now() > deadline {
            return Err(format!(
                "{what} was not ready within {} s\n{}",
                START_LIMIT.as_secs(),
                reaper.last_words()
            ));
        }
        std::thread::sleep(LOOK_EACH);
    }
    Ok(())
}

impl Files {
    fn write(data: &Path, url: &str) -> Self {
        let files = Self {
            kubeconfig: data.join("kubeconfig"),
            tokens: data.join("tokens.csv"),
            certificates: data.join("certificates"),
            kwok: data.join("kwok.yaml"),
            pod_log: data.join("pod.log"),
            etcd: data.join("etcd"),
        };
        let write = |path: &Path, text: String| {
            std::fs::write(path, text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        };
        write(
            &files.kubeconfig,
            kubeconfig(url, &files.certificates.join("apiserver.crt"), ADMIN_TOKEN).to_string(),
        );
        write(
            &files.tokens,
            format!("{ADMIN_TOKEN},administrator,administrator,\"system:masters\"\n"),
        );
        write(&files.kwok, crate::kwok::config(&files.pod_log));
        files
    }
}

fn kubeconfig(url: &str, authority: &Path, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "clusters": [{"name": "tests", "cluster": {"server": url, "certificate-authority": authority}}],
        "users": [{"name": "tests", "user": {"token": token}}],
    })
}

fn etcd_flags(files: &Files, ports: &Ports) -> Vec<String> {
    let clients = format!("http://127.0.0.1:{}", ports.etcd);
    let peers = format!("https://127.0.0.1:{}", ports.etcd_peer);
    vec![
        "--name=tests".to_owned(),
        format!("--data-dir={}", files.etcd.display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=tests={peers}"),
        "--peer-auto-tls".to_owned(),
        // The data is gone with the run.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

fn api_server_flags(files: &Files, ports: &Ports, key: &Path) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.api),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", files.certificates.display()),
        format!("--token-auth-file={}", files.tokens.display()),
        "--anonymous-auth=false".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        // It taints new nodes, and the controller that takes the taint away does not run.
        "--disable-admission-plugins=TaintNodesByCondition".to_owned(),
    ]
}

fn followers(plane: Plane, files: &Files, ports: &Ports) -> Vec<(Program, Vec<String>)> {
    let kubeconfig = format!("--kubeconfig={}", files.kubeconfig.display());
    let address = format!("127.0.0.1:{}", ports.kubelet);
    let kwok = |managed: &str| {
        vec![
            kubeconfig.clone(),
            format!("--config={}", files.kwok.display()),
            managed.to_owned(),
            "--node-ip=127.0.0.1".to_owned(),
            format!("--node-port={}", ports.kubelet),
            format!("--server-address={address}"),
        ]
    };
    match plane {
        Plane::Still => vec![(
            Program::Kwok,
            kwok("--manage-nodes-with-label-selector=managed-by-kwok=never"),
        )],
        Plane::Alive => vec![
            (
                Program::ControllerManager,
                vec![
                    kubeconfig.clone(),
                    "--leader-elect=false".to_owned(),
                    "--secure-port=0".to_owned(),
                    "--controllers=daemonset-controller,deployment-controller,replicaset-controller,\
                     garbage-collector-controller,namespace-controller,serviceaccount-controller"
                        .to_owned(),
                ],
            ),
            (
                Program::Scheduler,
                vec![
                    kubeconfig.clone(),
                    "--leader-elect=false".to_owned(),
                    "--secure-port=0".to_owned(),
                ],
            ),
            (Program::Kwok, kwok("--manage-all-nodes=true")),
        ],
    }
}
