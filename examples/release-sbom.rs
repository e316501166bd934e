//! Cuts a `CycloneDX` bill of materials down to what is linked into the program. `release/sbom` calls it.
//!
//! The tool that writes the bill asks `cargo metadata`, which also turns on the features that only tests and build
//! scripts want; a bill with crates that are not in the program raises alarms about none of its code. `cargo tree`
//! resolves as the build does, so it decides. The folder that the bill was made in is taken out as well.
//!
//! ```sh
//! cargo tree --edges normal --prefix none --no-dedupe --target TARGET --format '{p}' |
//!     cargo run --example release-sbom -- BILL
//! ```

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};

use anyhow::Context as _;
use serde_json::Value;

/// A crate, by name and version.
type Crate = (String, String);

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        anyhow::bail!("usage: cargo tree … | release-sbom BILL");
    };
    let bill = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let mut tree = String::new();
    io::stdin()
        .read_to_string(&mut tree)
        .context("read the tree of crates")?;
    let linked = linked(&tree)?;
    let bill = cut(&bill, &linked)?;
    serde_json::to_writer_pretty(io::stdout(), &bill)?;
    writeln!(io::stdout())?;
    Ok(())
}

/// Reads lines such as `serde v1.0.229` and `clap_derive v4.6.5 (proc-macro)`.
fn linked(tree: &str) -> anyhow::Result<BTreeSet<Crate>> {
    tree.lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let mut words = line.split(' ');
            words
                .next()
                .zip(words.next().and_then(|version| version.strip_prefix('v')))
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
                .with_context(|| format!("no crate and version: {line}"))
        })
        .collect()
}

fn cut(bill: &str, linked: &BTreeSet<Crate>) -> anyhow::Result<Value> {
    let mut bill: Value = serde_json::from_str(bill).context("the bill is not JSON")?;
    // The program's own reference names the folder that it was built in.
    let own = text(&bill, "/metadata/component/bom-ref")?;
    let version = text(&bill, "/metadata/component/version")?;
    let package = format!("pkg:cargo/{}@{version}", env!("CARGO_PKG_NAME"));
    let program = bill
        .pointer_mut("/metadata/component")
        .and_then(Value::as_object_mut)
        .context("the bill is of no program")?;
    for field in ["bom-ref", "purl"] {
        program.insert(field.to_owned(), Value::from(package.clone()));
    }

    let mut missing = linked.clone();
    missing.remove(&(env!("CARGO_PKG_NAME").to_owned(), version));
    let mut kept = BTreeSet::from([own.clone()]);
    list(&mut bill, "components")?.retain(|component| {
        let named = |field: &str| component[field].as_str().unwrap_or_default().to_owned();
        let found = missing.remove(&(named("name"), named("version")));
        if found {
            kept.insert(named("bom-ref"));
        }
        found
    });
    anyhow::ensure!(missing.is_empty(), "the bill lacks {missing:?}");

    let dependencies = list(&mut bill, "dependencies")?;
    dependencies.retain(|one| one["ref"].as_str().is_some_and(|one| kept.contains(one)));
    for one in dependencies {
        if one["ref"] == own {
            one["ref"] = Value::from(package.clone());
        }
        if let Some(on) = one.get_mut("dependsOn").and_then(Value::as_array_mut) {
            on.retain(|one| one.as_str().is_some_and(|one| kept.contains(one)));
        }
    }
    Ok(bill)
}

fn text(bill: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = bill.pointer(pointer).and_then(Value::as_str);
    Ok(found
        .with_context(|| format!("the bill has no {pointer}"))?
        .to_owned())
}

fn list<'a>(bill: &'a mut Value, field: &str) -> anyhow::Result<&'a mut Vec<Value>> {
    bill.get_mut(field)
        .and_then(Value::as_array_mut)
        .with_context(|| format!("the bill has no {field}"))
}
