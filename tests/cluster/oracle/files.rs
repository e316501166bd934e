//! Which files are read, and which cluster, user and namespace they name.

use super::{Contact, Row, only, trusting};

/// Two contexts: `a` with an empty namespace, and none that is current.
const FIRST: &str = "
current-context: \"\"
contexts:
- name: a
  context: {cluster: c, user: a, namespace: \"\"}
clusters:
- name: c
  cluster: {server: '@https@/first', certificate-authority-data: '@authority@'}
users:
- name: a
  user: {token: first-a}
";

const SECOND: &str = "
current-context: b
contexts:
- name: a
  context: {cluster: c, user: b, namespace: second}
- name: b
  context: {cluster: c, user: b, namespace: apps}
clusters:
- name: c
  cluster: {server: '@https@/second', certificate-authority-data: '@authority@'}
users:
- name: a
  user: {token: second-a}
- name: b
  user: {token: second-b}
";

fn two() -> Row {
    Row::new("two files and one that does not exist", FIRST)
        .file("second", SECOND)
        .env("KUBECONFIG", "@home@/missing:@home@/config::@home@/second")
}

fn at(prefix: &'static str, authorization: &'static str) -> impl Fn(&Contact) -> bool {
    move |contact| {
        only(&contact.ways)
            .is_some_and(|way| way.prefix == prefix && way.authorization == authorization)
    }
}

/// Rows 1 and 2.
#[test]
fn kubeconfig_files_are_merged_as_kubectl_merges_them() {
    // The first file's cluster wins whole, the second's current context counts: the first's is empty.
    two().works(at("/first", "Bearer second-b"));
    two()
        .flags(&["--context", "a"])
        .works(at("/first", "Bearer first-a"));
    Row::new("a file named by the flag alone", FIRST)
        .file("second", SECOND)
        .flags(&["--kubeconfig", "second"])
        .works(at("/second", "Bearer second-b"));
    Row::new("an empty flag is none", SECOND)
        .flags(&["--kubeconfig", "", "--context", ""])
        .works(at("/second", "Bearer second-b"));
    Row::new("an empty variable is none", "")
        .file(".kube/config", SECOND)
        .env("KUBECONFIG", "")
        .works(at("/second", "Bearer second-b"));
    Row::new("the usual file", "")
        .file(".kube/config", SECOND)
        .without_env("KUBECONFIG")
        .works(at("/second", "Bearer second-b"));
    Row::new("an empty file beside a whole one", "")
        .file("second", SECOND)
        .env("KUBECONFIG", "@home@/config:@home@/second")
        .works(at("/second", "Bearer second-b"));
    Row::new("a file named by the flag that does not exist", SECOND)
        .flags(&["--kubeconfig", "missing"])
        .fails("missing");
    Row::new("a folder instead of a file", SECOND)
        .env("KUBECONFIG", "@home@/pki")
        .fails("pki");
}

/// Row 8, and the contexts, clusters and users that flags name.
#[test]
fn contexts_clusters_and_users_are_chosen_as_kubectl_chooses_them() {
    two()
        .flags(&["--context", "a", "--user", "b"])
        .works(at("/first", "Bearer second-b"));
    Row::new("another cluster", SECOND)
        .file("second", FIRST.replace("name: c", "name: other"))
        .env("KUBECONFIG", "@home@/config:@home@/second")
        .flags(&["--cluster", "other"])
        .works(at("/first", "Bearer second-b"));
    Row::new("an unknown context", SECOND)
        .flags(&["--context", "prod"])
        .fails("context \"prod\" does not exist in the kubeconfig (it holds: a, b)");
    Row::new("an unknown cluster", SECOND)
        .flags(&["--cluster", "prod"])
        .fails("cluster \"prod\" does not exist in the kubeconfig (it holds: c)");
    Row::new("an unknown user", SECOND)
        .flags(&["--user", "root"])
        .fails("user \"root\" does not exist in the kubeconfig (it holds: a, b)");
    Row::new(
        "a current context that does not exist",
        SECOND.replace("current-context: b", "current-context: gone"),
    )
    .fails("context \"gone\" does not exist");
    Row::new(
        "a context whose cluster does not exist",
        SECOND.replace("cluster: c,", "cluster: gone,"),
    )
    .fails("cluster \"gone\" does not exist");
    Row::new(
        "a context whose user does not exist",
        SECOND
            .replace("user: b,", "user: gone,")
            .replace("@https@", "@http@"),
    )
    .works(at("/second", ""));
    Row::new(
        "a cluster without a server",
        "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]\n",
    )
    .differs(
        "kubectl takes localhost:8080 for a cluster without a server; a tool for one Velero guesses none",
        |kubectl| kubectl.said("localhost:8080") && kubectl.ways.is_empty(),
        |ours| ours.said("has no server") && ours.ways.is_empty(),
    );
}

/// Row 29: no kubeconfig is not the same as a broken one.
#[test]
fn without_a_usable_kubeconfig_nothing_else_is_asked() {
    let guessed = |kubectl: &Contact| kubectl.said("localhost:8080") && kubectl.ways.is_empty();
    let silent = |words: &'static str| {
        move |ours: &Contact| ours.said(words) && ours.ways.is_empty() && !ours.worked()
    };
    let reason =
        "kubectl takes localhost:8080, where nobody listens since v1.0; we say what is missing";
    Row::new("no kubeconfig", "")
        .without_env("KUBECONFIG")
        .differs(reason, guessed, silent(".kube/config"));
    Row::new("only files that do not exist", "")
        .env("KUBECONFIG", "@home@/missing:@home@/gone")
        .differs(reason, guessed, silent("none of the kubeconfig files"));
    Row::new("an empty kubeconfig", "").differs(reason, guessed, silent("no current context"));
    Row::new(
        "no current context",
        SECOND.replace("current-context: b", ""),
    )
    .differs(reason, guessed, silent("no current context"));
    // As in a pod, though its service account is not there: a broken file must not lead elsewhere.
    let pod = |row: Row| {
        row.env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
            .env("KUBERNETES_SERVICE_PORT", "@port@")
    };
    pod(Row::new("broken YAML", "contexts: {")).fails("understand kubeconfig");
    pod(Row::new("a list instead of a kubeconfig", "[]")).fails("understand kubeconfig");
    pod(Row::new("a wrong type", "contexts: 1\n")).fails("understand kubeconfig");
    pod(Row::new("a text", "hello\n")).fails("understand kubeconfig");
}

#[test]
fn what_kubectl_takes_for_a_kubeconfig_is_taken() {
    let whole = "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n";
    let rest = "clusters: [{name: c, cluster: {server: '@http@/here'}}]\nusers: [{name: u, user: {as: jane}}]\n";
    let jane = |contact: &Contact| {
        contact.came(|way| {
            way.prefix == "/here"
                && way.impersonation == [("impersonate-user".to_owned(), "jane".to_owned())]
        })
    };
    for (name, text) in [
        ("nothing else", format!("{whole}{rest}")),
        (
            "a duplicate key (row 18)",
            format!("current-context: other\n{whole}{rest}").replace("\ncontexts", "\npreferences: {}\ncontexts"),
        ),
        (
            "nulls and unknown fields",
            format!("preferences: null\nnew-field: [1]\nextensions:\n{whole}{rest}"),
        ),
        ("a second document", format!("{whole}{rest}---\ncurrent-context: b\n")),
        ("a byte order mark", format!("\u{feff}{whole}{rest}")),
        (
            "JSON",
            r#"{"kind":"Config","apiVersion":"v1","current-context":"x","contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],
               "clusters":[{"name":"c","cluster":{"server":"@http@/here"}}],"users":[{"name":"u","user":{"as":"jane"}}]}"#
                .to_owned(),
        ),
        (
            "anchors",
            "current-context: x\ncontexts:\n- name: x\n  context: &c {cluster: c, user: u}\n- name: z\n  context: *c\n".to_owned() + rest,
        ),
        (
            "Windows line ends",
            format!("{whole}{rest}").replace('\n', "\r\n"),
        ),
    ] {
        Row::new(name, text).works(jane);
    }
    Row::new(
        "names that look like numbers",
        format!("{whole}{rest}").replace(": x", ": 007"),
    )
    .differs(
        "kubectl refuses a number for a name; only the name can be meant",
        |kubectl| !kubectl.worked(),
        jane,
    );
    Row::new(
        "another kind of object",
        format!("kind: Pod\napiVersion: v1\n{whole}{rest}"),
    )
    .fails("understand kubeconfig");
}

/// File names in a kubeconfig are relative to it, and those of flags to the working folder.
#[test]
fn relative_names_are_relative_to_their_kubeconfig() {
    let config = "current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '@https@', certificate-authority: ../pki/authority.pem}}]
users: [{name: u, user: {tokenFile: token, client-certificate: ../pki/client.pem, client-key: ../pki/client.key.pem}}]
";
    Row::new("files beside the kubeconfig", "")
        .file("deep/config", config)
        .file("deep/token", "beside")
        .env("KUBECONFIG", "@home@/deep/config")
        .works(|contact| {
            contact.came(|way| {
                way.authorization == "Bearer beside" && way.certificate.as_deref() == Some("client")
            })
        });
    Row::new("a kubeconfig in the working folder", "")
        .file("deep/config", config)
        .file("deep/token", "beside")
        .env("KUBECONFIG", "deep/config")
        .works(|contact| contact.came(|way| way.authorization == "Bearer beside"));
}

/// Row 8: an empty namespace is none. The plugin's own namespace is Velero's, not the context's.
#[test]
fn the_namespace_is_that_of_the_flag() {
    let only_in = |namespace: &'static str| {
        move |contact: &Contact| only(&contact.namespaces).is_some_and(|known| known == namespace)
    };
    for flags in [
        &["-n", "apps"][..],
        &["-napps"],
        &["--namespace=apps"],
        &["--namespace", "apps"],
    ] {
        Row::new("a namespace by flag", trusting("token: t"))
            .flags(flags)
            .works(only_in("apps"));
    }
    let reason = "`-n` names the namespace of Velero, and the context's namespace is that of the user's own work";
    Row::new("the context's namespace", SECOND).differs(reason, only_in("apps"), only_in("velero"));
    Row::new("an empty namespace", SECOND)
        .flags(&["-n", ""])
        .differs(reason, only_in("apps"), only_in("velero"));
    two()
        .flags(&["--context", "a"])
        .differs(reason, only_in("default"), only_in("velero"));
}
