//! Options as GNU programs read them: bundles, values attached or not, abbreviated long names, operands anywhere.

/// Which options of a program take a value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spec {
    /// Letters.
    pub(crate) short: &'static str,
    /// Long names without dashes, separated by spaces.
    pub(crate) long: &'static str,
    /// Whether options end at the first operand, as for programs that run another one.
    pub(crate) stops: bool,
}

/// Options and operands of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opts {
    flags: Vec<(String, Option<String>)>,
    pub(crate) operands: Vec<String>,
    /// Index in the arguments of the first operand.
    pub(crate) first: usize,
}

impl Spec {
    pub(crate) const fn new(short: &'static str, long: &'static str) -> Self {
        Spec { short, long, stops: false }
    }

    pub(crate) const fn wrapper(short: &'static str, long: &'static str) -> Self {
        Spec { short, long, stops: true }
    }

    fn long_takes_value(&self, name: &str) -> bool {
        name.len() > 1 && self.long.split(' ').any(|long| !long.is_empty() && long.starts_with(name))
    }

    /// Reads `args`, the words behind the program's name.
    pub(crate) fn read(&self, args: &[String]) -> Opts {
        let mut opts = Opts { first: args.len(), ..Opts::default() };
        let mut i = 0;
        let mut only_operands = false;
        while let Some(arg) = args.get(i) {
            i += 1;
            if only_operands || !arg.starts_with('-') || arg == "-" {
                if opts.operands.is_empty() {
                    opts.first = i - 1;
                }
                opts.operands.push(arg.clone());
                only_operands |= self.stops;
            } else if arg == "--" {
                only_operands = true;
            } else if let Some(long) = arg.strip_prefix("--") {
                let (name, mut value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                if value.is_none() && self.long_takes_value(name) {
                    value = args.get(i).cloned();
                    i += 1;
                }
                opts.flags.push((name.to_owned(), value));
            } else {
                i += self.bundle(arg, args.get(i), &mut opts);
            }
        }
        opts
    }

    /// Reads a bundle of short options; 1 if the last one took the next argument.
    fn bundle(&self, arg: &str, next: Option<&String>, opts: &mut Opts) -> usize {
        let letters = arg.char_indices().skip(1);
        for (at, letter) in letters {
            if !self.short.contains(letter) {
                opts.flags.push((letter.to_string(), None));
                continue;
            }
            let rest = arg.get(at + letter.len_utf8()..).unwrap_or_default();
            if rest.is_empty() {
                opts.flags.push((letter.to_string(), next.cloned()));
                return 1;
            }
            opts.flags.push((letter.to_string(), Some(rest.to_owned())));
            return 0;
        }
        0
    }
}

impl Opts {
    /// Whether an option was given, as a letter or as a possibly abbreviated long name.
    pub(crate) fn has(&self, names: &str) -> bool {
        self.find(names).is_some()
    }

    /// The value of an option; `names` are letters and long names, separated by spaces.
    pub(crate) fn value(&self, names: &str) -> Option<&str> {
        self.find(names).and_then(|(_, value)| value.as_deref())
    }

    pub(crate) fn values<'a>(&'a self, names: &'a str) -> impl Iterator<Item = &'a str> {
        self.flags.iter().filter(|(name, _)| matches(name, names)).filter_map(|(_, value)| value.as_deref())
    }

    fn find(&self, names: &str) -> Option<&(String, Option<String>)> {
        self.flags.iter().find(|(name, _)| matches(name, names))
    }
}

fn matches(given: &str, names: &str) -> bool {
    names.split(' ').any(|name| {
        if name.len() == 1 || given.len() == 1 {
            name == given
        } else {
            given.len() > 2 && name.starts_with(given)
        }
    })
}
