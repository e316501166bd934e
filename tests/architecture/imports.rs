//! Every way in which one module can name another, checked against the layer table.

use std::collections::BTreeSet;
use std::path::Path;

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

use crate::table::{self, Edge, Imports, Table};

/// What our own library is called from the outside.
const OWN_CRATE: &str = "velero_slots";

/// Parts of `std` that reach outside the process.
const OUTSIDE: [&str; 6] = ["fs", "net", "env", "process", "thread", "os"];

/// One source file and the place of its code in the crate.
struct Source {
    module: Vec<String>,
    text: String,
}

/// What the checker knows besides the file.
struct Rules {
    table: Table,
    /// Every dependency of the manifest, with underscores.
    dependencies: BTreeSet<String>,
    /// Modules in files of their own that are declared `#[cfg(test)]`.
    test_modules: BTreeSet<Vec<String>>,
}

/// Which code is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    /// What is shipped: the table holds to the letter.
    Shipped,
    /// `#[cfg(test)]`: may reach every layer below, to build its input from the beginning.
    Test,
}

struct Checker<'a> {
    rules: &'a Rules,
    module: Vec<String>,
    code: Code,
    found: Vec<String>,
}

fn check(rules: &Rules, source: &Source) -> Vec<String> {
    let file = syn::parse_file(&source.text)
        .unwrap_or_else(|error| panic!("{}: {error}", source.module.join("::")));
    let is_test = (1..=source.module.len()).any(|length| {
        rules
            .test_modules
            .contains(source.module.get(..length).unwrap_or_default())
    });
    let mut checker = Checker {
        rules,
        module: source.module.clone(),
        code: if is_test { Code::Test } else { Code::Shipped },
        found: Vec::new(),
    };
    checker.visit_file(&file);
    checker.found
}

impl Checker<'_> {
    fn report(&mut self, what: &str) {
        self.found
            .push(format!("{}: {what}", self.module.join("::")));
    }

    /// Judges one path, written with `::` between `segments`.
    fn path(&mut self, segments: &[String]) {
        let own = match segments {
            [first, rest @ ..] if first == "crate" || first == OWN_CRATE => Some(rest.to_vec()),
            [first, rest @ ..] if first == "self" => {
                Some(self.module.iter().chain(rest).cloned().collect())
            }
            [first, ..] if first == "super" => Some(self.above(segments)),
            [first, rest @ ..] => {
                self.outside(first, rest);
                None
            }
            [] => None,
        };
        if let Some(own) = own {
            self.inside(segments, &own);
        }
    }

    fn above(&self, segments: &[String]) -> Vec<String> {
        let ups = segments.iter().take_while(|part| *part == "super").count();
        let kept = self.module.len().saturating_sub(ups);
        let rest = segments.iter().skip(ups);
        self.module.iter().take(kept).chain(rest).cloned().collect()
    }

    fn inside(&mut self, written: &[String], absolute: &[String]) {
        let written = written.join("::");
        let own = self.module.first().cloned().unwrap_or_default();
        let Some(target) = absolute.first().filter(|name| *name != "*") else {
            self.report(&format!(
                "`{written}` names the crate root, which hides what is used"
            ));
            return;
        };
        if *target == own || self.for_tests(target) || self.for_tests(&own) {
            return;
        }
        if !self.rules.table.contains_key(target) {
            self.report(&format!("`{written}` is of no module of the layer table"));
            return;
        }
        let allowed = match self.rules.table.get(&own).map(|layer| &layer.imports) {
            Some(Imports::Everything) => true,
            Some(Imports::Only(names)) => {
                names.contains(target)
                    || (self.code == Code::Test
                        && table::below(&self.rules.table, &own).contains(target))
            }
            None => false,
        };
        if !allowed {
            self.report(&format!("`{written}`: {own} may not import {target}"));
        }
    }

    /// Whether a module beside the layers exists for tests only; shipped code cannot see it.
    fn for_tests(&self, module: &str) -> bool {
        self.code == Code::Test && self.rules.test_modules.contains(&vec![module.to_owned()])
    }

    fn outside(&mut self, first: &str, rest: &[String]) {
        let Some(layer) = self
            .rules
            .table
            .get(self.module.first().map_or("", String::as_str))
        else {
            return;
        };
        let reaches_out = first == "std"
            && layer.edge == Edge::Pure
            && rest
                .first()
                .is_some_and(|part| OUTSIDE.contains(&part.as_str()));
        let foreign = self.rules.dependencies.contains(first) && !layer.crates.contains(first);
        if self.code == Code::Shipped && (reaches_out || foreign) {
            let written: Vec<&str> = std::iter::once(first)
                .chain(rest.iter().map(String::as_str))
                .collect();
            self.report(&format!("`{}` is not for this layer", written.join("::")));
        }
    }

    fn use_tree(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.use_tree(before, &path.tree);
                before.pop();
            }
            // `crate::{self as x}` names the crate root under another name.
            UseTree::Name(name) => self.leaf(before, &name.ident.to_string()),
            UseTree::Rename(rename) => self.leaf(before, &rename.ident.to_string()),
            UseTree::Glob(_) => self.leaf(before, "*"),
            UseTree::Group(group) => {
                for item in &group.items {
                    self.use_tree(before, item);
                }
            }
        }
    }

    fn leaf(&mut self, before: &[String], last: &str) {
        let mut segments = before.to_vec();
        if last != "self" || before.is_empty() {
            segments.push(last.to_owned());
        }
        self.path(&segments);
    }

    /// Judges the paths in tokens that are not parsed: macro calls, macro bodies, attributes.
    fn tokens(&mut self, mut cursor: Cursor<'_>) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        while !cursor.eof() {
            if let Some((inside, _, _, after)) = cursor.any_group() {
                if colons == 2 {
                    // `crate::{a, b}`: each member goes on where the path stopped.
                    self.group(&path, inside);
                } else {
                    self.end(&path);
                    self.tokens(inside);
                }
                (path, colons, cursor) = (Vec::new(), 0, after);
            } else if let Some((ident, after)) = cursor.ident() {
                if colons != 2 {
                    self.end(&path);
                    path.clear();
                }
                path.push(ident.to_string());
                (colons, cursor) = (0, after);
            } else if let Some((punct, after)) = cursor.punct() {
                if punct.as_char() == ':' {
                    colons += 1;
                } else {
                    self.end(&path);
                    path.clear();
                    colons = 0;
                }
                cursor = after;
            } else if let Some((_, after)) = cursor.token_tree() {
                self.end(&path);
                (path, colons, cursor) = (Vec::new(), 0, after);
            }
        }
        self.end(&path);
    }

    fn group(&mut self, before: &[String], mut cursor: Cursor<'_>) {
        let mut start = true;
        while !cursor.eof() {
            if let Some((ident, after)) = cursor.ident() {
                if start {
                    self.leaf(before, &ident.to_string());
                }
                (start, cursor) = (false, after);
            } else if let Some((punct, after)) = cursor.punct() {
                (start, cursor) = (punct.as_char() == ',', after);
            } else if let Some((_, after)) = cursor.token_tree() {
                (start, cursor) = (false, after);
            }
        }
    }

    /// Judges a path found in tokens; a lone word there is a variable, a field or a method.
    fn end(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.path(path);
        }
    }

    /// Runs `look` with the code that `attributes` make it.
    fn under(&mut self, attributes: &[Attribute], look: impl FnOnce(&mut Self)) {
        let before = self.code;
        if is_cfg_test(attributes) {
            self.code = Code::Test;
        }
        look(self);
        self.code = before;
    }
}

impl<'ast> Visit<'ast> for Checker<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::ExternCrate(_) => {
                self.report("`extern crate` gives a crate a second name");
                &[]
            }
            _ => &[],
        };
        self.under(attributes, |checker| visit::visit_item(checker, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("path"))
        {
            self.report("`#[path]` hides where a module is");
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&mut Vec::new(), &item.tree);
        visit::visit_visibility(self, &item.vis);
    }

    fn visit_visibility(&mut self, visibility: &'ast Visibility) {
        // `pub(crate)` and `pub(super)` name a scope, not something used.
        if let Visibility::Restricted(restricted) = visibility
            && restricted.in_token.is_some()
        {
            self.visit_path(&restricted.path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if segments.len() > 1 {
            self.path(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call
            .path
            .segments
            .last()
            .is_some_and(|name| name.ident == "include")
        {
            self.report("`include!` hides whose code it is");
        }
        self.visit_path(&call.path);
        self.tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let Meta::List(list) = &attribute.meta else {
            return;
        };
        self.tokens(TokenBuffer::new2(list.tokens.clone()).begin());
        // `#[serde(with = "crate::other")]` is a path in quotes.
        for text in list.tokens.to_string().split('"').skip(1).step_by(2) {
            if let Ok(path) = syn::parse_str::<syn::Path>(text) {
                let segments: Vec<String> = path
                    .segments
                    .iter()
                    .map(|segment| segment.ident.to_string())
                    .collect();
                self.end(&segments);
            }
        }
    }
}

fn is_cfg_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
    })
}

/// Returns the modules of `source` that are declared `#[cfg(test)]` and have a file of their own.
fn declared_test_modules(source: &Source) -> Vec<Vec<String>> {
    let file = syn::parse_file(&source.text).expect("every source file parses");
    file.items
        .iter()
        .filter_map(|item| match item {
            Item::Mod(item) if item.content.is_none() && is_cfg_test(&item.attrs) => {
                let mut module = source.module.clone();
                module.push(item.ident.to_string());
                Some(module)
            }
            _ => None,
        })
        .collect()
}

/// Returns the module that a file below `src` holds; the crate root is empty.
fn module_of(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod")
        || (parts.len() == 1 && parts.first().is_some_and(|only| only == "lib"))
    {
        parts.pop();
    }
    parts
}

/// Returns the names of all dependencies in a manifest, with underscores.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end().ends_with("dependencies]");
        } else if inside
            && let Some((name, _)) = line.split_once(" = ")
            && !name.starts_with([' ', '#'])
        {
            found.insert(name.replace('-', "_"));
        }
    }
    found
}

fn sources() -> Vec<Source> {
    let folder = crate::root().join("src");
    crate::rust_files("src")
        .into_iter()
        .map(|path| Source {
            module: module_of(path.strip_prefix(&folder).expect("it is below src")),
            text: std::fs::read_to_string(&path).expect("a source file is readable"),
        })
        .collect()
}

fn rules(sources: &[Source]) -> Rules {
    Rules {
        table: table::parse(&crate::read("ARCHITECTURE.md")),
        dependencies: dependencies(&crate::read("Cargo.toml")),
        test_modules: sources.iter().flat_map(declared_test_modules).collect(),
    }
}

#[test]
fn every_import_follows_the_layer_table() {
    let sources = sources();
    let rules = rules(&sources);
    let found: Vec<String> = sources
        .iter()
        .filter(|source| !source.module.is_empty())
        .flat_map(|source| check(&rules, source))
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

/// Returns what is wrong with the crate root: it declares the layers and does nothing else, so that no
/// layer can be reached under another name.
fn check_crate_root(table: &Table, text: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("lib.rs parses");
    let mut found = Vec::new();
    for item in &file.items {
        let Item::Mod(item) = item else {
            found.push("lib.rs holds something besides modules".to_owned());
            continue;
        };
        if is_cfg_test(&item.attrs) {
            continue;
        }
        let gated = item.attrs.iter().any(|attribute| {
            matches!(&attribute.meta, Meta::List(list)
                if attribute.path().is_ident("cfg") && list.tokens.to_string() == "feature = \"cli\"")
        });
        match table.get(&item.ident.to_string()) {
            None => found.push(format!("{} has no row in the layer table", item.ident)),
            Some(layer) if gated != (layer.edge == Edge::Cli) => {
                found.push(format!("{}: [cli] and the feature disagree", item.ident));
            }
            Some(_) => {}
        }
    }
    found
}

#[test]
fn the_crate_root_only_declares_layers_of_the_table() {
    let table = table::parse(&crate::read("ARCHITECTURE.md"));
    assert_eq!(
        check_crate_root(&table, &crate::read("src/lib.rs")),
        Vec::<String>::new()
    );
}

#[test]
fn every_layer_of_the_table_exists() {
    let root = crate::read("src/lib.rs");
    for layer in table::parse(&crate::read("ARCHITECTURE.md")).keys() {
        assert!(
            layer == "main" || root.contains(&format!("pub mod {layer};")),
            "{layer} is in the layer table and not in lib.rs"
        );
    }
}

mod the_checker_refuses {
    use super::{Rules, Source, check, check_crate_root, dependencies};
    use crate::table;

    const TABLE: &str = "| Module | May import | Crates |\n|---|---|---|\n\
         | `velero` | – | `serde` |\n\
         | `snapshot` | `velero` | – |\n\
         | `replay` | `snapshot` | – |\n\
         | `render` | `velero` | `comfy-table` |\n\
         | `cli` [cli] | everything | `kube` |\n\
         | `main` [cli] | `cli` | – |\n";

    fn found(module: &str, text: &str) -> Vec<String> {
        let rules = Rules {
            table: table::parse(TABLE),
            dependencies: dependencies(
                "[dependencies]\nkube = \"5\"\ncomfy-table = \"8\"\nserde = \"1\"\n",
            ),
            test_modules: [vec!["replay", "tests"], vec!["testing"]]
                .into_iter()
                .map(|module| module.into_iter().map(str::to_owned).collect())
                .collect(),
        };
        let module = module.split("::").map(str::to_owned).collect();
        check(
            &rules,
            &Source {
                module,
                text: text.to_owned(),
            },
        )
    }

    #[test]
    fn an_import_upwards_in_every_spelling() {
        for text in [
            "use crate::render;",
            "use crate::{snapshot as _, render as _};",
            "use crate::render::{self, table};",
            "use super::super::render::table;",
            "use super::super::{snapshot, render::table};",
            "pub use crate::render::table;",
            "use velero_slots::render;",
            "fn f() { crate::render::table() }",
            "fn f() -> super::super::render::Table { g() }",
            "fn f<T: crate::render::Draw>(t: T) {}",
            "fn f() { let _ = format!(\"{}\", crate::render::table()); }",
            "macro_rules! m { () => { use $crate::{snapshot, render}; } }",
            "#[derive(crate::render::Draw)] struct S;",
            "#[serde(with = \"crate::render\")] struct S;",
            "mod inner { use super::super::super::render; }",
            "impl crate::render::Draw for S {}",
            "mod tests { use crate::render; }",
            "#[cfg(test)] mod tests { use crate::render; }",
        ] {
            assert!(!found("replay::node_slots", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_name_for_the_crate_root() {
        for text in [
            "use crate as whole;",
            "use crate::*;",
            "use crate::{self as whole};",
            "use super::*;",
            "use super as whole;",
        ] {
            assert_eq!(found("replay", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_crate_or_a_part_of_std_that_is_not_for_the_layer() {
        for text in [
            "use kube::Client;",
            "use comfy_table::Table;",
            "fn f() { std::fs::read(\"x\"); }",
            "use std::{env, fmt};",
            "extern crate kube as quiet;",
            "fn f() { dbg!(kube::Client::new()); }",
        ] {
            assert_eq!(found("replay", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn code_whose_place_cannot_be_seen() {
        assert_eq!(
            found("replay", "#[path = \"../render/x.rs\"] mod x;").len(),
            1
        );
        assert_eq!(found("replay", "include!(\"x.rs\");").len(), 1);
        assert_eq!(found("unheard_of", "use crate::render;").len(), 1);
        assert_eq!(found("replay", "use crate::unheard_of;").len(), 1);
        assert_eq!(found("replay", "use crate::testing::capture_of;").len(), 1);
    }

    #[test]
    fn a_crate_root_with_more_than_gated_modules() {
        let table = table::parse(TABLE);
        for text in [
            "pub use render::table;",
            "pub mod unheard_of;",
            "pub mod cli;",
            "#[cfg(feature = \"cli\")] pub mod replay;",
        ] {
            assert_eq!(check_crate_root(&table, text).len(), 1, "{text}");
        }
        let right =
            "pub mod replay; #[cfg(test)] mod testing; #[cfg(feature = \"cli\")] pub mod cli;";
        assert_eq!(check_crate_root(&table, right), Vec::<String>::new());
    }

    #[test]
    fn nothing_that_is_allowed() {
        for (module, text) in [
            ("replay", "use crate::snapshot::{self, Task};"),
            ("replay::node_slots", "use super::{Decision, concurrency};"),
            ("replay", "mod tests { use super::*; }"),
            (
                "replay",
                "#[cfg(test)] mod tests { use crate::velero::Phase; }",
            ),
            ("replay::tests", "use crate::velero::Phase;"),
            (
                "replay",
                "pub(crate) fn f() {} pub(in crate::replay) fn g() {}",
            ),
            ("replay", "/// See [`crate::render`].\nfn f() {}"),
            ("replay::tests", "use crate::testing::capture_of;"),
            ("testing", "use crate::render::table;"),
            ("replay", "use std::collections::BTreeMap;"),
            ("render", "use comfy_table::Table;"),
            ("velero", "#[derive(serde::Deserialize)] struct S;"),
            ("cli", "use crate::render; use kube::Client; use std::env;"),
            ("main", "fn main() { velero_slots::cli::run() }"),
            (
                "replay",
                "fn f(self: &Self) { self.x; matches!(a, Self::B { .. }) }",
            ),
        ] {
            assert_eq!(
                found(module, text),
                Vec::<String>::new(),
                "{module}: {text}"
            );
        }
    }
}
