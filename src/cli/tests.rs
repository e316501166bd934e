//! The command line as a whole, without a process.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use super::exit::Exit;
use super::{App, run_with};

mod deploy;
mod runbooks;

fn call(args: &[&str]) -> (Exit, String, String) {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let args = std::iter::once("kubectl-velero_slots")
        .chain(args.iter().copied())
        .map(OsString::from);
    let exit = run_with(args, &mut out, &mut err);
    (
        exit,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

#[test]
fn clap_finds_no_fault_with_the_flags() {
    App::command().debug_assert();
}

#[test]
fn help_names_every_command_as_the_user_types_it() {
    let mut app = App::command();
    app.build();
    let mut tree = app.render_help().to_string();
    for command in app.get_subcommands_mut() {
        if command.get_name() != "help" {
            tree.push_str("\n---\n");
            tree.push_str(&command.render_help().to_string());
        }
    }
    insta::assert_snapshot!(tree, @r"
    Show who holds and who waits for the slots of Velero's node-agents, and say what is wrong

    Usage: kubectl velero-slots <COMMAND>

    Commands:
      status      Show which node has how many slots, who holds them and who waits
      diagnose    Say what is wrong, how sure, on what evidence, and what to type next
      explain     Tell the story of one task, which gate is closed, and what would free it; or print a finding's runbook
      replay      Show what each node-agent would decide for each unfinished task if it looked now
      nudge       Make the controller look again at tasks that it may have missed, and watch what becomes of them
      restart     Restart the stuck node-agent of a node, and watch whether the queue moves
      capture     Write what was read into one file that every reading command takes, without names and secrets
      auth        Show which rights each feature needs, and which of them the current user has
      completion  Complete commands, flags, nodes and tasks at the TAB key
      version     Show the version of this program and the Velero releases whose rules it knows
      help        Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Exit codes: 0 answered; 1 could not answer, or verdict unknown; 2 usage; 3 a finding at or above --fail-on; 4 an action was refused and changed nothing; 5 an action did not come about in time; 124 time limit; 130 interrupted.

    ---
    Show which node has how many slots, who holds them and who waits

    Usage: kubectl velero-slots status [OPTIONS]

    Options:
      -h, --help  Print help (see more with '--help')

    Source:
          --from <PATH>            Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]
          --timeout <DURATION>     How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Filters:
          --node <NAME>     Show only this node; repeatable
          --kind <KIND>     Show only tasks of this kind: du, dd, pvb, pvr, or a full name; repeatable
          --backup <NAME>   Show only tasks of this Backup
          --restore <NAME>  Show only tasks of this Restore

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    Watching:
      -w, --watch[=<BOOL>]  Show the answer again whenever it changes, until Ctrl-C
          --until <STATE>   Wait until nothing that is shown waits or runs (idle), or nothing is stuck (unstuck) [possible values: idle, unstuck]

    Analysis:
          --threshold <DURATION>  How long a task may wait beside a free slot [default: 10m]

    ---
    Say what is wrong, how sure, on what evidence, and what to type next

    Usage: kubectl velero-slots diagnose [OPTIONS]

    Options:
      -h, --help  Print help (see more with '--help')

    Source:
          --from <PATH>            Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]
          --timeout <DURATION>     How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Filters:
          --node <NAME>     Show only this node; repeatable
          --kind <KIND>     Show only tasks of this kind: du, dd, pvb, pvr, or a full name; repeatable
          --backup <NAME>   Show only tasks of this Backup
          --restore <NAME>  Show only tasks of this Restore

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    Watching:
      -w, --watch[=<BOOL>]  Show the answer again whenever it changes, until Ctrl-C
          --until <STATE>   Wait until nothing that is shown waits or runs (idle), or nothing is stuck (unstuck) [possible values: idle, unstuck]

    Analysis:
          --threshold <DURATION>  How long a task may wait beside a free slot [default: 10m]
          --fail-on <SEVERITY>    From which severity on the exit code is 3 [default: critical] [possible values: critical, warning, info, never]
          --logs <WHEN>           Whether logs of node-agents are read from a cluster where they would decide something [default: auto] [possible values: auto, never]
          --metrics <WHEN>        Whether metrics of node-agents are read from a cluster where they would decide something [default: auto] [possible values: auto, never]

    ---
    Tell the story of one task, which gate is closed, and what would free it; or print a finding's runbook

    Usage: kubectl velero-slots explain [OPTIONS] <KIND/NAME|FINDING-ID>

    Arguments:
      <KIND/NAME|FINDING-ID>  What to explain: du/NAME, backup/NAME, pvc/NAMESPACE/NAME, prepared-stuck, ...

    Options:
      -h, --help  Print help (see more with '--help')

    Source:
          --from <PATH>            Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]
          --timeout <DURATION>     How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    Watching:
      -w, --watch[=<BOOL>]  Show the answer again whenever it changes, until Ctrl-C
          --until <STATE>   Wait until nothing that is shown waits or runs (idle), or nothing is stuck (unstuck) [possible values: idle, unstuck]

    Analysis:
          --threshold <DURATION>  How long a task may wait beside a free slot [default: 10m]
          --logs <WHEN>           Whether logs of node-agents are read from a cluster where they would decide something [default: auto] [possible values: auto, never]
          --metrics <WHEN>        Whether metrics of node-agents are read from a cluster where they would decide something [default: auto] [possible values: auto, never]

    ---
    Show what each node-agent would decide for each unfinished task if it looked now

    Usage: kubectl velero-slots replay [OPTIONS]

    Options:
      -h, --help  Print help (see more with '--help')

    Source:
          --from <PATH>            Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]
          --timeout <DURATION>     How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Filters:
          --node <NAME>     Show only this node; repeatable
          --kind <KIND>     Show only tasks of this kind: du, dd, pvb, pvr, or a full name; repeatable
          --backup <NAME>   Show only tasks of this Backup
          --restore <NAME>  Show only tasks of this Restore

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    Analysis:
          --threshold <DURATION>  How long a task may wait beside a free slot [default: 10m]

    Simulation:
          --simulate                    Show how the queue drains from here instead
          --design <DESIGN>             The order in which a node-agent asks its gates [default: upstream] [possible values: upstream, early-check, reserve-slot, all]
          --concurrency <N|NODE=N,...>  What if the limit were N after a restart, everywhere or on the nodes named; repeatable, side by side
          --prepare-queue <N>           What if prepareQueueLength were N after a restart
          --workers <N>                 What if each kind had N workers on each node
          --requeue-prepared            What if Prepared tasks were also looked at every minute
          --without-ghost-slots         What if the node-agents with ghost slots restarted: what it would buy, and end
          --seed <N>                    The seed of the timers and durations [default: 0]

    ---
    Make the controller look again at tasks that it may have missed, and watch what becomes of them

    Usage: kubectl velero-slots nudge [OPTIONS] <KIND/NAME|--node <NAME>|--all-stuck>

    Arguments:
      [KIND/NAME]...  The tasks: du/NAME, dd/NAME, pvb/NAME, pvr/NAME, or with full names of the kinds

    Options:
      -h, --help  Print help (see more with '--help')

    Action:
          --node <NAME>         All stuck tasks of this node; repeatable
          --all-stuck           Every stuck task
          --dry-run <WHERE>     Whether something is changed: client shows the plan alone, server asks the API server whether it would do it [default: none] [possible values: none, client, server]
      -y, --yes[=<BOOL>]        Do not ask for confirmation
          --force[=<BOOL>]      Go on where the plan says that it can be forced, at the price that it names
          --reason <TEXT>       Why; it is written into the Event and the annotation that the action leaves
          --timeout <DURATION>  How long to watch after a nudge, or after the restart of one node [default: 2m for nudge, 10m for restart; 0 means without limit]

    Source:
          --from <PATH>            Show the plan for a file, a folder, a .tar.gz or standard input (-); nothing is done then; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    Analysis:
          --threshold <DURATION>  How long a task may wait beside a free slot [default: 10m]
          --logs <WHEN>           Whether logs of node-agents are read where they would decide something, and while watching [default: auto] [possible values: auto, never]
          --metrics <WHEN>        Whether metrics of node-agents are read where they would decide something [default: auto] [possible values: auto, never]

    ---
    Restart the stuck node-agent of a node, and watch whether the queue moves

    Usage: kubectl velero-slots restart [OPTIONS] <--node <NAME>|--all-stuck>

    Options:
      -h, --help  Print help (see more with '--help')

    Action:
          --node <NAME>            The node; repeatable: one after the other, until one does not recover
          --all-stuck              Every node that a restart would mend, one after the other, until one does not recover
          --save-log <PATH>        Save the agent's log (and that of its container before) first, to a new file, or below a folder; a restart destroys it
          --no-follow-up[=<BOOL>]  Only name the Accepted tasks that need a nudge after the restart
          --dry-run <WHERE>        Whether something is changed: client shows the plan alone, server asks the API server whether it would do it [default: none] [possible values: none, client, server]
      -y, --yes[=<BOOL>]           Do not ask for confirmation
          --force[=<BOOL>]         Go on where the plan says that it can be forced, at the price that it names
          --reason <TEXT>          Why; it is written into the Event and the annotation that the action leaves
          --timeout <DURATION>     How long to watch after a nudge, or after the restart of one node [default: 2m for nudge, 10m for restart; 0 means without limit]

    Source:
          --from <PATH>            Show the plan for a file, a folder, a .tar.gz or standard input (-); nothing is done then; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    Analysis:
          --threshold <DURATION>  How long a task may wait beside a free slot [default: 10m]
          --logs <WHEN>           Whether logs of node-agents are read where they would decide something, and while watching [default: auto] [possible values: auto, never]
          --metrics <WHEN>        Whether metrics of node-agents are read where they would decide something [default: auto] [possible values: auto, never]

    ---
    Write what was read into one file that every reading command takes, without names and secrets

    Usage: kubectl velero-slots capture [OPTIONS]

    Options:
      -h, --help  Print help

    Source:
          --from <PATH>            Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]
          --timeout <DURATION>     How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Output:
      -f, --file <FILE>         The file to write, readable by its owner only; packed if its name ends in .gz; - for standard output [default: velero-slots-capture-<time>.json.gz]
          --overwrite[=<BOOL>]  Replace the file if there is one
          --no-redact[=<BOOL>]  Write objects and logs as they are, with names, labels, annotations, messages, arguments and environment
          --save-names <FILE>   Write which pseudonym stands for which name to a file of its own, to keep and not to send
          --dry-run[=<BOOL>]    Tell what would be written, and write nothing

    ---
    Show which rights each feature needs, and which of them the current user has

    Usage: kubectl velero-slots auth [OPTIONS]

    Options:
          --role <ROLE>  Print the least roles for this kind of user [possible values: viewer, operator]
      -h, --help         Print help (see more with '--help')

    Source:
          --from <PATH>            Read a file, a folder, a .tar.gz or standard input (-) instead of a cluster; repeatable
          --now <RFC3339>          With --from: the time that counts as now [default: the capture's own time, else the newest time in the input]
      -n, --namespace <NAMESPACE>  Velero's namespace [default: the Velero client's configuration, $VELERO_NAMESPACE, else a search]
          --timeout <DURATION>     How long the whole command may read a cluster; --from is read to its end [default: 30s; 0 means without limit]

    Cluster, as in kubectl:
          --kubeconfig <FILE>
              The kubeconfig file
          --context <NAME>
              The kubeconfig context
          --cluster <NAME>
              The kubeconfig cluster
          --user <NAME>
              The kubeconfig user
          --as <USER>
              The user to impersonate
          --as-group <GROUP>
              A group to impersonate; repeatable
          --as-uid <UID>
              The UID to impersonate
          --as-user-extra <KEY=VALUE>
              An extra attribute to impersonate; repeatable
          --token <TOKEN>
              The bearer token
      -s, --server <URL>
              The address of the API server
          --request-timeout <DURATION>
              How long one request may take [default: 10s; 0 means without limit]
          --insecure-skip-tls-verify[=<BOOL>]
              Take any certificate of the server
          --certificate-authority <FILE>
              The file of the certificate authority
          --client-certificate <FILE>
              The file of the client certificate
          --client-key <FILE>
              The file of the client key
          --tls-server-name <NAME>
              The name to expect in the server's certificate

    Output:
      -o, --output <FORMAT>      The format of the answer [default: table] [possible values: table, wide, json, yaml, name, markdown, openmetrics]
          --color <WHEN>         When to write colours [default: auto] [possible values: auto, always, never]
          --no-headers[=<BOOL>]  Leave the header line of tables out

    ---
    Complete commands, flags, nodes and tasks at the TAB key

    Usage: kubectl velero-slots completion [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  For what to complete [possible values: kubectl, bash, zsh, fish, powershell]

    Options:
          --install     With kubectl: make the link by which kubectl finds the completion
          --path <DIR>  With --install: the folder for the link [default: the plugin's own]
      -h, --help        Print help (see more with '--help')

    ---
    Show the version of this program and the Velero releases whose rules it knows

    Usage: kubectl velero-slots version [OPTIONS]

    Options:
      -h, --help  Print help (see more with '--help')

    Output:
      -o, --output <FORMAT>  The format of the answer [default: table] [possible values: table, json, yaml]
    ");
}

#[test]
fn the_version_is_an_answer() {
    let (exit, out, err) = call(&["--version"]);
    assert_eq!(exit, Exit::Answered);
    assert_eq!(
        out,
        concat!("kubectl velero-slots ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(err, "");
}

#[test]
fn flags_and_formats_of_later_releases_are_refused() {
    let calls: [&[&str]; 1] = [&["status", "--fail-on", "never"]];
    for args in calls {
        let (exit, out, err) = call(args);
        assert_eq!(exit, Exit::Usage, "{args:?}");
        assert_eq!(out, "", "{args:?}");
        assert!(err.starts_with("error: "), "{err}");
    }
}

#[test]
fn what_does_not_change_cannot_be_watched() {
    let calls: [(&[&str], &str); 4] = [
        (
            &["status", "-w", "--from", "x"],
            "error: --watch needs a cluster: what --from names is read once and does not change",
        ),
        (
            &["diagnose", "--until", "unstuck", "--from", "x"],
            "error: --until needs a cluster",
        ),
        (
            &["explain", "du/a", "-w", "--from=x"],
            "error: --watch needs a cluster",
        ),
        (
            &["explain", "prepared-stuck", "-w"],
            "error: --watch needs something that changes: a runbook is part of this program",
        ),
    ];
    for (args, expected) in calls {
        let (exit, out, err) = call(args);
        assert_eq!(exit, Exit::Usage, "{args:?}");
        assert_eq!(out, "", "{args:?}");
        assert!(err.starts_with(expected), "{err}");
    }
}

#[test]
fn flags_are_spelled_as_pflag_takes_them() {
    let spellings: [&[&str]; 14] = [
        &["status", "-w", "--until=idle", "--timeout=5m"],
        &["explain", "-w=false", "du/a"],
        &["status", "-owide"],
        &["status", "-o=wide"],
        &["status", "-o", "wide"],
        &["status", "--output=json"],
        &["status", "--no-headers"],
        &["status", "--no-headers=false"],
        &["status", "--no-headers=T"],
        &["status", "-nvelero", "--node=a", "--node", "b,c"],
        &[
            "diagnose",
            "--insecure-skip-tls-verify",
            "--request-timeout=5",
        ],
        &[
            "diagnose",
            "--as-group=a",
            "--as-group=b",
            "--kubecontext=prod",
        ],
        &["replay", "--kind=du,pvb", "--kind", "PodVolumeRestore"],
        &["status", "-o", "json", "-o", "yaml"],
    ];
    for args in spellings {
        let args = std::iter::once("kubectl-velero_slots").chain(args.iter().copied());
        assert!(App::try_parse_from(args.clone()).is_ok(), "{args:?}");
    }
}

#[test]
fn wrong_values_are_usage_errors_that_say_what_is_expected() {
    let calls: [(&[&str], &str); 5] = [
        (
            &["status", "--threshold", "10"],
            "expected a duration such as 90s, 10m or 1h30m",
        ),
        (
            &["status", "--timeout", "soon"],
            "expected seconds, or a duration such as 90s or 5m",
        ),
        (&["status", "--kind", "pod"], "expected du, dd, pvb, pvr"),
        (
            &["status", "--from", "x", "--now", "yesterday"],
            "expected a time such as 2026-01-02T03:04:05Z",
        ),
        (
            &["status", "-o", "xml"],
            "[possible values: table, wide, json, yaml, name, markdown, openmetrics]",
        ),
    ];
    for (args, expected) in calls {
        let (exit, _, err) = call(args);
        assert_eq!(exit, Exit::Usage, "{args:?}");
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn metrics_are_refused_where_there_are_none_before_anything_is_read() {
    let calls: [&[&str]; 6] = [
        &["replay"],
        &["replay", "--simulate"],
        &["explain", "du/x"],
        &["explain", "slot-queue"],
        &["nudge", "du/x"],
        &["restart", "--node", "a"],
    ];
    for command in calls {
        let args = [command, &["-o", "openmetrics", "--from", "/nonexistent"]].concat();
        let (exit, out, err) = call(&args);
        assert_eq!(exit, Exit::Usage, "{args:?}");
        assert_eq!(out, "", "{args:?}");
        assert!(
            err.starts_with("error: -o openmetrics is for status and diagnose alone\n"),
            "{err}"
        );
    }
}

#[test]
fn an_error_cannot_send_escapes_to_the_terminal() {
    let (exit, _, err) = call(&["status", "--from", "/nonexistent/\u{1b}[2J"]);
    assert_eq!(exit, Exit::CouldNotAnswer);
    assert!(!err.contains('\u{1b}'), "{err:?}");
}

#[test]
fn the_exit_codes_are_those_of_the_docs() {
    let docs = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/output.md"),
    )
    .unwrap();
    let table: Vec<&str> = docs
        .lines()
        .skip_while(|line| *line != "| code | meaning |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let of_code: Vec<String> = Exit::ALL
        .iter()
        .map(|exit| format!("| {} | {} |", exit.code(), exit.meaning()))
        .collect();
    assert_eq!(table, of_code);
}
