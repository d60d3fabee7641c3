//! Patterns of words: `program operands and -o|--options`, for what can be told from the words alone.

use std::sync::OnceLock;

/// One pattern: operands in order, options anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Names of programs.
    programs: Vec<String>,
    operands: Vec<Piece>,
    /// Of each group one option must be there.
    options: Vec<Vec<String>>,
    /// None of these may be there.
    without: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// One word: alternatives with `*`.
    One(Vec<String>),
    /// Any number of words.
    Many,
}

impl Pattern {
    /// Reads a pattern: `|` separates alternatives, `*` is any text in a word, `**` any words, `-x` an option, `!-x` one that may not be.
    pub(crate) fn new(text: &str) -> Option<Pattern> {
        let mut words = text.split_whitespace();
        let programs = alternatives(words.next()?);
        Some(Pattern::from_words(programs, words))
    }

    /// A pattern for `program` of such words.
    pub(crate) fn from_words<'a>(programs: Vec<String>, words: impl Iterator<Item = &'a str>) -> Pattern {
        let mut pattern =
            Pattern { programs, operands: Vec::new(), options: Vec::new(), without: Vec::new() };
        for word in words {
            match word.strip_prefix('!') {
                Some(not) if not.starts_with('-') => pattern.without.extend(alternatives(not)),
                _ if word == "**" => pattern.operands.push(Piece::Many),
                _ if word.starts_with('-') => pattern.options.push(alternatives(word)),
                _ => pattern.operands.push(Piece::One(alternatives(word))),
            }
        }
        pattern
    }

    /// Whether a program's name and the words behind it match.
    pub(crate) fn matches(&self, name: &str, words: &Words<'_>) -> bool {
        self.programs.iter().any(|program| glob(program, name))
            && self.options.iter().all(|group| group.iter().any(|option| words.has(option)))
            && !self.without.iter().any(|option| words.has(option))
            && operands(&self.operands, &words.operands)
    }
}

fn alternatives(word: &str) -> Vec<String> {
    word.split('|').map(str::to_owned).collect()
}

fn operands(pieces: &[Piece], words: &[&str]) -> bool {
    match (pieces.first(), words.first()) {
        (None, _) => true,
        (Some(Piece::Many), _) => {
            let rest = pieces.get(1..).unwrap_or_default();
            rest.is_empty()
                || (0..=words.len().min(64)).any(|skip| operands(rest, words.get(skip..).unwrap_or_default()))
        }
        (Some(Piece::One(names)), Some(word)) => {
            names.iter().any(|name| glob(name, word))
                && operands(pieces.get(1..).unwrap_or_default(), words.get(1..).unwrap_or_default())
        }
        (Some(Piece::One(_)), None) => false,
    }
}

/// Whether `text` is what `pattern` says, where `*` stands for any text.
pub fn glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    let Some((first, rest)) = pattern.split_once('*') else { return false };
    let Some(mut tail) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match tail.find(piece) {
            Some(at) => tail = tail.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    tail.ends_with(last)
}

/// The words behind a program's name, sorted into options and operands.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    operands: Vec<&'a str>,
    options: Vec<&'a str>,
}

/// Options with a value that may stand before a subcommand.
#[rustfmt::skip]
const VALUED: &[(&str, &[&str])] = &[
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"]),
    ("kubectl", &["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server",
        "-l", "--selector", "-f", "-o"]),
    ("oc", &["-n", "--namespace", "--context"]),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig"]),
    ("docker", &["-H", "--host", "--context", "-c", "--config", "-l"]),
    ("docker-compose", &["-f", "--file", "-p", "--project-name", "--env-file"]),
    ("aws", &["--profile", "--region", "--output", "--endpoint-url"]),
    ("gcloud", &["--project", "--account", "--zone", "--region"]),
    ("az", &["--subscription", "-g", "--resource-group", "-n", "--name"]),
    ("terraform", &["-chdir", "-target", "-var", "-var-file"]),
    ("gh", &["-R", "--repo"]),
    ("systemctl", &["-H", "--host", "-M", "--machine", "-t", "--type", "-p"]),
    ("npm", &["-w", "--workspace", "--prefix", "--registry"]),
    ("cargo", &["--manifest-path", "-p", "--package", "--color", "-Z"]),
    ("mysqladmin", &["-u", "-h", "-P", "--user", "--host"]),
    ("redis-cli", &["-h", "-p", "-a", "-n", "--user", "--pass", "-u"]),
    ("iptables", &["-t", "--table"]),
    ("zfs", &[]),
];

impl<'a> Words<'a> {
    pub(crate) fn new(name: &str, args: &'a [String]) -> Self {
        let valued =
            VALUED.iter().find(|(program, _)| *program == name).map_or(&[][..], |(_, options)| options);
        let mut words = Words { operands: Vec::new(), options: Vec::new() };
        let mut args = args.iter().map(String::as_str);
        let mut ended = false;
        while let Some(arg) = args.next() {
            if arg == "--" {
                ended = true;
            } else if ended || !arg.starts_with('-') || arg == "-" {
                words.operands.push(arg);
            } else {
                words.options.push(arg);
                if valued.contains(&arg) {
                    args.next();
                }
            }
        }
        words
    }

    /// Whether an option was given: as it is, with a value, as a letter of a bundle.
    fn has(&self, option: &str) -> bool {
        let letter = option
            .strip_prefix('-')
            .filter(|rest| rest.chars().count() == 1)
            .and_then(|rest| rest.chars().next());
        self.options.iter().any(|given| {
            let plain =
                given.split_once('=').filter(|_| !option.contains('=')).map_or(*given, |(name, _)| name);
            let bundled = letter.is_some_and(|letter| {
                !given.starts_with("--")
                    && given.len() < 7
                    && given.chars().skip(1).all(char::is_alphabetic)
                    && given.contains(letter)
            });
            plain == option || (option.contains('*') && glob(option, given)) || bundled
        })
    }
}

/// The built-in patterns of a program.
///
/// Which they are is known at compile time, by a hash of the name, and each is read when it is first needed: a process
/// that checks one command does not pay for all of them.
pub(crate) fn builtin(name: &str) -> Vec<(&'static Pattern, &'static str)> {
    static READ: [OnceLock<Option<Pattern>>; TEXTS] = [const { OnceLock::new() }; TEXTS];
    static INDEX: [(u32, u16); NAMES] = index();
    let wanted = hash(name.as_bytes(), 0, name.len());
    let read = |number: &u16| {
        let (rule, text) = nth(usize::from(*number))?;
        let pattern = READ.get(usize::from(*number))?.get_or_init(|| Pattern::new(text)).as_ref()?;
        pattern.programs.iter().any(|program| program == name).then_some((pattern, rule))
    };
    INDEX.iter().filter(|(hash, _)| *hash == wanted).filter_map(|(_, number)| read(number)).collect()
}

/// The rule and the text of a pattern by its number.
fn nth(number: usize) -> Option<(&'static str, &'static str)> {
    let mut left = number;
    for (rule, texts) in PATTERNS {
        match texts.get(left) {
            Some(text) => return Some((rule, text)),
            None => left -= texts.len(),
        }
    }
    None
}

/// How many patterns there are, and how many names of programs in them.
const TEXTS: usize = count().0;
const NAMES: usize = count().1;

const fn count() -> (usize, usize) {
    let (mut texts, mut names, mut rule) = (0, 0, 0);
    while rule < PATTERNS.len() {
        let mut at = 0;
        while at < PATTERNS[rule].1.len() {
            let text = PATTERNS[rule].1[at].as_bytes();
            let mut byte = 0;
            names += 1;
            while byte < text.len() && text[byte] != b' ' {
                names += (text[byte] == b'|') as usize;
                byte += 1;
            }
            texts += 1;
            at += 1;
        }
        rule += 1;
    }
    (texts, names)
}

/// Each name of a program, hashed, with the number of the pattern that names it.
const fn index() -> [(u32, u16); NAMES] {
    let mut index = [(0, 0); NAMES];
    let (mut number, mut entry, mut rule) = (0_u16, 0, 0);
    while rule < PATTERNS.len() {
        let mut at = 0;
        while at < PATTERNS[rule].1.len() {
            let text = PATTERNS[rule].1[at].as_bytes();
            let (mut from, mut byte) = (0, 0);
            while byte <= text.len() {
                let last = byte == text.len() || text[byte] == b' ';
                if last || text[byte] == b'|' {
                    index[entry] = (hash(text, from, byte), number);
                    entry += 1;
                    from = byte + 1;
                }
                if last {
                    break;
                }
                byte += 1;
            }
            number += 1;
            at += 1;
        }
        rule += 1;
    }
    index
}

/// FNV-1a of a part of a text.
const fn hash(text: &[u8], from: usize, to: usize) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, from);
    while at < to {
        hash = (hash ^ text[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// By rule. A program's name is exact here.
#[rustfmt::skip]
const PATTERNS: &[(&str, &[&str])] = &[
    ("vcs.force-push", &["git push -f|--force|--mirror|--delete|-d|--prune !--dry-run", "git push ** :*",
        "git push ** +*", "hg push -f|--force"]),
    ("vcs.discard", &["git reset --hard|--merge|--keep",
        "git checkout -f|--force", "git checkout ** .|./|:/|*\u{F0010}",
        "git switch -f|--force|--discard-changes", "git restore ** .|./|:/|*\u{F0010} !--staged !-S",
        "git restore -W|--worktree ** .", "git rm -r ** .|./|*\u{F0010}|\u{F0010} !--cached",
        "git checkout-index -f", "svn revert -R|--recursive", "hg update|up -C|--clean",
        "git worktree remove -f|--force", "git submodule deinit -f|--force", "git read-tree -u --reset",
        "jj abandon"]),
    ("vcs.history", &["git branch -D", "git branch -d|--delete -f|--force", "git stash drop|clear",
        "git reflog expire|delete", "git gc --prune=now|--prune=all|--aggressive --prune*",
        "git filter-branch|filter-repo", "git update-ref -d|--delete", "git tag -d|--delete", "git prune",
        "git replace -d", "hg strip|purge", "bfg", "git notes prune", "git branch -f|--force",
        "git lfs prune"]),
    ("cloud.loss", &["kubectl|oc|k delete|drain|evict !--dry-run*", "kubectl|oc replace --force",
        "kubectl|oc scale --replicas=0", "kubectl cordon|taint", "kubectl apply --prune --all",
        "helm uninstall|delete|del|un|rollback !--dry-run", "terraform|tofu|terragrunt destroy",
        "terraform|tofu|terragrunt apply -auto-approve|--auto-approve|-destroy",
        "terraform|tofu state rm|push|mv", "terraform|tofu workspace delete",
        "terraform|tofu force-unlock|taint|untaint", "terragrunt run-all destroy|apply",
        "pulumi destroy|cancel", "pulumi stack rm", "pulumi up -y|--yes", "cdk|cdktf destroy",
        "serverless|sls remove", "sam delete", "eksctl delete", "copilot app|svc|env delete",
        "amplify delete", "eb terminate", "gh repo delete|archive|rename",
        "gh release|secret|variable|gist|issue|label|run|cache|codespace|ssh-key|gpg-key delete",
        "gh api -X|--method ** DELETE", "gh api -XDELETE|--method=DELETE", "gh repo edit --visibility",
        "gh pr merge --admin", "gh auth logout|token", "glab repo|project delete", "hub delete",
        "aws s3 rb", "aws s3 rm --recursive", "aws s3 sync --delete",
        "aws ** delete-*|terminate-*|deregister-*|remove-*|purge-*|destroy-*|cancel-*|disable-*|stop-*|reset-*|revoke-*|schedule-key-deletion",
        "aws iam create-access-key|attach-*|put-*|create-user|update-*",
        "gcloud ** delete|destroy|remove-iam-policy-binding|reset|disable",
        "gcloud ** add-iam-policy-binding", "az ** delete|purge|remove|stop|deallocate|delete-batch",
        "doctl ** delete|rm|d|destroy", "linode-cli ** delete", "hcloud ** delete", "ibmcloud ** delete|rm",
        "oci ** delete|terminate", "scw ** delete|terminate", "heroku *:destroy|*:reset|*:delete|*:remove",
        "fly|flyctl ** destroy|delete", "vercel|now rm|remove", "netlify *:delete",
        "firebase *:delete|*:disable", "wrangler ** delete|rm", "railway down|delete",
        "supabase ** delete|reset", "supabase db reset", "gsutil ** rm|rb", "gsutil rsync -d",
        "s3cmd del|rb|rm", "rclone delete|purge|deletefile|sync|cleanup|rmdirs", "mc rm|rb",
        "vault ** delete|destroy|disable|revoke", "vault operator seal", "consul kv delete", "etcdctl del",
        "nomad ** stop|purge|delete|drain", "minikube|kind|k3d delete", "kind|k3d ** delete",
        "k3d cluster delete", "kind delete cluster", "vagrant destroy", "multipass delete|purge",
        "lxc delete", "virsh destroy|undefine|vol-delete", "packer build -force",
        "ansible-playbook -e ** state=absent", "argocd app delete", "flux uninstall|delete",
        "istioctl uninstall", "velero ** delete", "rabbitmqctl reset|force_reset|delete_*|purge_queue",
        "rabbitmqadmin delete|purge", "kafka-topics|kafka-topics.sh --delete",
        "kafka-consumer-groups --delete", "nats ** rm|purge|del", "zkCli.sh ** deleteall|rmr",
        "hdfs dfs -rm", "hadoop fs -rm", "bq rm"]),
    ("db.loss", &["dropdb|dropuser", "mysqladmin ** drop|shutdown|flush-*",
        "rails|rake|bin/rails db:drop*|db:reset*|db:purge*|db:rollback*|db:truncate_all|db:migrate:reset",
        "php artisan migrate:fresh|migrate:reset|migrate:refresh|db:wipe|migrate:rollback",
        "python|python3 manage.py flush|reset_db|sqlflush", "django-admin flush|reset_db",
        "prisma|npx|pnpm|yarn|bunx ** migrate reset",
        "prisma|npx|pnpm ** db push --force-reset|--accept-data-loss",
        "sequelize|sequelize-cli|npx ** db:drop|db:migrate:undo:all", "knex|npx ** migrate:rollback --all",
        "typeorm|npx ** schema:drop", "alembic downgrade base", "flask db downgrade",
        "mix ecto.drop|ecto.reset", "diesel database reset|drop|setup", "diesel database reset",
        "sqlx database drop|reset", "flyway clean", "liquibase drop-all|dropAll", "pg_restore -c|--clean",
        "mongorestore --drop", "pg_dropcluster|pg_resetwal", "mysql_secure_installation",
        "influx ** delete", "cqlsh -e ** DROP*", "curl -X|--request ** DELETE */_all|*/_all*|*:9200/*",
        "drush sql-drop|sql:drop|site-install", "wp db reset|drop|clean", "dolt reset --hard"]),
    ("publish", &["npm|pnpm|yarn|bun|lerna publish|unpublish|deprecate !--dry-run", "yarn npm publish",
        "npm dist-tag|owner|access|token add|rm|set|create|revoke|public|restricted|grant",
        "npx npm publish", "cargo publish|yank|owner !--dry-run !-n !--list", "gem push|yank|owner",
        "twine upload", "poetry|uv|hatch|flit|pdm|rye publish !--dry-run", "python|python3 setup.py upload",
        "python|python3 -m ** twine upload", "mvn ** deploy|release:perform",
        "gradle|gradlew ** publish|uploadArchives|publishPlugins", "goreleaser release !--snapshot",
        "vsce|ovsx publish", "dotnet nuget push|delete", "nuget push|delete", "pod trunk push|delete",
        "dart|flutter pub publish !--dry-run", "hex publish", "mix hex.publish", "luarocks upload",
        "cabal upload", "stack upload", "conan upload", "helm push", "semantic-release",
        "npx semantic-release", "changeset publish", "npx changeset publish", "lerna publish",
        "jsr publish", "deno publish", "clojars"]),
    ("container.loss",
        &["docker|podman|nerdctl system|volume|image|container|network|builder|buildx prune|reset",
        "docker|podman|nerdctl volume rm|remove", "docker|podman|nerdctl rm -f|--force|-v|--volumes",
        "docker|podman|nerdctl rmi -f|--force", "docker|podman image rm -f|--force",
        "docker|podman container rm -f|--force", "docker|podman|nerdctl compose down -v|--volumes|--rmi",
        "docker-compose|podman-compose down -v|--volumes|--rmi", "docker|podman|nerdctl compose rm -v|-f",
        "docker-compose rm -v|-f",
        "docker stack|service|secret|config|swarm|network|context|node|plugin rm|remove|leave",
        "podman system reset", "docker buildx rm", "crictl rm|rmi|rmp", "ctr ** rm|delete",
        "colima|lima|limactl delete"]),
    ("sys.power", &["reboot|shutdown|halt|poweroff|telinit|pm-suspend|pm-hibernate|systemd-halt",
        "init 0|1|6|s|S",
        "systemctl ** reboot|poweroff|halt|kexec|suspend|hibernate|rescue|emergency|hybrid-sleep|soft-reboot|isolate|switch-root|exit",
        "loginctl reboot|poweroff|suspend|terminate-*|kill-*|lock-session*", "kexec -e|-l", "rtcwake"]),
    ("sys.service",
        &["systemctl ** stop|start|restart|reload|disable|enable|mask|unmask|kill|reset-failed|edit|set-default|daemon-reexec|preset|try-restart|revert|link|set-property|reenable",
        "service ** stop|start|restart|reload|force-reload", "rc-service ** stop|start|restart",
        "rc-update|update-rc.d|chkconfig|sysv-rc-conf",
        "launchctl unload|bootout|remove|disable|load|bootstrap|kill|kickstart|stop|start",
        "supervisorctl stop|restart|shutdown|remove|update|reload", "sv stop|down|restart|force-stop",
        "initctl stop|start", "invoke-rc.d", "/etc/init.d/*", "hostnamectl set-*|hostname",
        "timedatectl set-*", "localectl set-*", "pm2 kill", "pm2 delete all", "brew services stop|restart",
        "snap disable|stop|revert", "apachectl|nginx -s|-k",
        "setenforce|aa-disable|aa-teardown|aa-complain", "semanage", "auditctl -D|-e", "auditd",
        "fail2ban-client stop|unban"]),
    ("sys.network",
        &["iptables|ip6tables|iptables-legacy|ebtables|arptables -F|--flush|-X|--delete-chain|-P|--policy|-D|--delete|-A|--append|-I|--insert|-R|--replace|-Z|-N",
        "iptables-restore|ip6tables-restore", "nft flush|delete|add|insert|replace|destroy", "nft -f",
        "ufw disable|enable|reset|delete|allow|deny|reject|default|insert|limit|reload|route",
        "firewall-cmd --add-*|--remove-*|--panic-on|--reload|--set-*|--permanent|--complete-reload",
        "pfctl -d|-F|-f|-e", "ip link|l set|delete|del|add",
        "ip route|r|addr|address|a|rule|neigh del|delete|flush|add|replace|change", "ip ** flush",
        "ifconfig * down|up", "ifdown|ifup", "route del|add|delete|flush",
        "nmcli ** down|delete|off|modify|disconnect", "tc qdisc|filter|class add|del|replace|change",
        "dhclient -r", "resolvectl dns|flush-caches", "networksetup -set*", "wg-quick|wg down|set",
        "netplan apply", "hostname *", "iw|iwconfig", "arp -d|-s", "tailscale down|logout", "ethtool -s|-K",
        "brctl delbr|addbr"]),
    ("sys.kernel", &["modprobe|insmod|rmmod|depmod|kmod", "sysctl -w|--write|-p|--load|--system",
        "sysctl *=*", "mount *", "mount -a|-o|-t|--bind", "umount|swapoff|swapon|pivot_root|fusermount",
        "kexec", "dmsetup remove|remove_all|wipe_table", "losetup -d|-D",
        "grub-install|update-grub|grub-mkconfig|grub2-mkconfig|efibootmgr|bootctl|update-initramfs|mkinitcpio|dracut|lilo",
        "hwclock -w|-s|--systohc|--set", "date -s|--set*", "ntpdate", "setserial|setterm", "nvram",
        "csrutil", "bpftool prog|map ** load|attach", "dmesg -C|-c|--clear",
        "journalctl --vacuum-*|--rotate|--flush", "debugfs -w", "fsck|e2fsck|xfs_repair -y|-f|-p|-a|-L",
        "tune2fs|resize2fs|xfs_growfs|e2label", "quotaoff|quotaon", "ldconfig", "tmutil delete*|disable",
        "spctl --master-disable"]),
    ("sys.user",
        &["useradd|userdel|usermod|adduser|deluser|groupadd|groupdel|groupmod|addgroup|delgroup|gpasswd|chpasswd|chgpasswd|newusers|vipw|vigr|visudo|chsh|chfn|chage|pwconv|pwunconv|grpconv",
        "passwd", "dscl", "faillock --reset", "loginctl terminate-user|kill-user", "smbpasswd",
        "htpasswd -D", "pw userdel|usermod|useradd", "edquota|setquota"]),
    ("sys.package", &["apt|apt-get|aptitude remove|purge|autoremove|dist-upgrade|full-upgrade|autopurge",
        "dpkg -r|-P|--remove|--purge|--force-*", "dpkg-reconfigure",
        "yum|dnf|zypper|microdnf remove|erase|autoremove|rm|distro-sync|downgrade", "rpm -e|--erase",
        "pacman|yay|paru -R|-Rns|-Rs|-Rn|-Rsc", "apk del", "emerge -C|--unmerge|--depclean|-c",
        "snap remove", "flatpak uninstall|remove", "brew uninstall|remove|rm|autoremove", "port uninstall",
        "pkg delete|remove|autoremove", "nix-env -e|--uninstall", "nix-collect-garbage -d",
        "nixos-rebuild switch|boot", "update-alternatives --set|--remove|--install", "apt-mark",
        "add-apt-repository|apt-key|apt-add-repository", "alternatives --set|--remove",
        "softwareupdate -i"]),
    ("secret.read",
        &["security find-generic-password|find-internet-password|dump-keychain|export|find-certificate -w|-g|-d|-p",
        "security dump-keychain|export", "pass show|ls -c", "pass show", "op item|read|document get",
        "op read", "op item get", "bw get|export|list", "lpass show|export", "secret-tool lookup|search",
        "gopass show", "vault kv get", "vault read", "kubectl|oc get secret|secrets -o|--output",
        "aws secretsmanager get-secret-value", "aws ssm get-parameter* --with-decryption",
        "aws configure export-credentials", "aws sts get-session-token|assume-role", "gcloud auth print-*",
        "gcloud secrets versions access", "az account get-access-token", "az keyvault secret show",
        "gh auth token", "gpg --export-secret-keys|--export-secret-subkeys", "git credential fill",
        "doppler secrets", "heroku config", "ssh-add -L", "mimikatz|laZagne", "sops -d|--decrypt",
        "ansible-vault view|decrypt", "chamber read|export", "keyctl read|print"]),
    ("secret.loss", &["gpg|gpg2 --delete-secret-keys|--delete-secret-key|--delete-secret-and-public-key|--delete-keys|--delete-key"]),
    ("sys.root-account", &["useradd|usermod|adduser -o|--non-unique ** 0",
        "useradd|usermod|adduser --uid=0", "useradd|usermod|adduser -u0", "useradd|usermod -ou ** 0", "passwd -d|--delete|-u|--unlock ** root", "usermod -p|--password ** root",
        "usermod -p ** root", "passwd root -d|--delete"]),
    ("container.host", &["nsenter -t|--target 1", "nsenter -t1|--target=1"]),
    ("device.format", &["mkfs|mkfs.*|mke2fs|mkswap|mkdosfs|mkntfs|mkexfatfs|mkudffs|newfs /dev/*",
        "wipefs -a|--all|-o ** /dev/*", "blkdiscard|blkzone|zerofree /dev/*", "blkdiscard ** /dev/*",
        "sgdisk ** /dev/*", "sfdisk ** /dev/*", "fdisk|cfdisk|gdisk|cgdisk|parted /dev/* !-l !--list",
        "parted ** rm|mklabel|mkpart|mktable|resizepart|set",
        "nvme format|sanitize|write-zeroes|delete-ns|write",
        "hdparm --security-erase|--security-erase-enhanced|--trim-sector-ranges|--make-bad-sector|--dco-restore|--fwdownload",
        "hdparm --security-erase*",
        "cryptsetup luksFormat|luksErase|erase|luksKillSlot|luksRemoveKey|reencrypt",
        "cryptsetup ** luksFormat|luksErase|erase|luksKillSlot", "zpool destroy|labelclear|create|remove",
        "zpool ** destroy|labelclear", "zfs destroy|rollback", "zfs ** destroy",
        "lvremove|vgremove|pvremove|lvreduce|vgreduce",
        "mdadm --zero-superblock|--create|-C|--stop|-S|--remove", "btrfs subvolume|device delete|remove",
        "sg_format|sg_sanitize|scrub|badblocks -w", "sg_format|sg_sanitize|scrub /dev/*", "badblocks -w|-n",
        "diskutil eraseDisk|eraseVolume|zeroDisk|partitionDisk|secureErase|reformat|randomDisk|apfs",
        "flashrom -w|-E", "flash_erase|flash_eraseall|nandwrite|mtd", "dmsetup wipe_table",
        "ddrescue ** /dev/sd*", "format.com", "shred ** /dev/*", "partprobe-wipe", "dd_rescue ** /dev/*",
        "mkfs.* ** /dev/*", "mkfs|mke2fs|mkswap|mkdosfs ** /dev/*"]),
];

/// Options that make a listing or a rehearsal of whatever the program does else.
#[rustfmt::skip]
const REHEARSALS: &[(&str, &str)] = &[
    ("ldconfig", "-p --print-cache -N"), ("swapon", "-s --show --summary"), ("passwd", "-S --status"),
    ("chage", "-l --list"), ("apt apt-get aptitude", "-s --simulate --just-print --dry-run --recon --no-act"),
    ("brew", "--dry-run -n"), ("pacman yay paru", "-p --print"), ("dnf yum zypper", "--assumeno --dry-run -D"),
    ("rpm", "--test"), ("dpkg", "--dry-run --simulate --no-act"), ("tune2fs", "-l"), ("wipefs", "-n --no-act"),
    ("fsck e2fsck xfs_repair", "-n -N"), ("rclone aws", "--dry-run --dryrun"), ("mount", "-l -f --fake"),
    ("helm kubectl oc npm pnpm yarn cargo poetry twine uv git gh docker podman skopeo", "--dry-run --dry-run=client"),
    ("gem", "--explain"), ("flatpak snap", "--help"), ("cdk pulumi", "--dry-run --preview-only"),
];
/// Of these every option must be one of a listing; the operands say more.
#[rustfmt::skip]
const LISTINGS: &[(&str, &str)] = &[
    ("sfdisk", "-l --list -d --dump -J --json -s --show-size -V --verify -F --list-free -g --show-geometry"),
    ("sgdisk", "-p --print -i --info -v --verify -L --list-types"),
    ("fdisk gdisk cfdisk", "-l --list -x"), ("nvme", "-o"),
];
/// Programs whose `-h` is not a page.
const H_IS_OTHER: &[&str] =
    &["shutdown", "halt", "poweroff", "mysqladmin", "psql", "redis-cli", "chown", "htpasswd"];

/// Whether a call of a program only lists, rehearses, or prints a page.
pub(crate) fn is_harmless(name: &str, args: &[String]) -> bool {
    let row = |table: &[(&'static str, &'static str)]| {
        table
            .iter()
            .find(|(names, _)| names.split(' ').any(|known| known == name))
            .map(|(_, options)| *options)
    };
    let known = |options: &str, arg: &str| options.split(' ').any(|option| option == arg);
    let options = || args.iter().map(String::as_str).filter(|arg| arg.starts_with('-'));
    let page = args.last().is_some_and(|word| {
        matches!(word.as_str(), "--help" | "-help") || (word == "-h" && !H_IS_OTHER.contains(&name))
    });
    let rehearses = row(REHEARSALS).is_some_and(|list| options().any(|arg| known(list, arg)));
    let lists =
        row(LISTINGS).is_some_and(|list| options().next().is_some() && options().all(|arg| known(list, arg)));
    // `parted /dev/sda unit s print`
    let prints = name == "parted"
        && args.last().is_some_and(|word| matches!(word.as_str(), "print" | "free" | "all"))
        && !args.iter().any(|word| {
            word.starts_with("mk") || matches!(word.as_str(), "rm" | "set" | "resizepart" | "rescue")
        });
    page || rehearses || lists || prints
}

/// Programs whose names begin so are looked up by this name as well.
pub(crate) fn family(name: &str) -> Option<&'static str> {
    if name.starts_with("mkfs.") { Some("mkfs") } else { None }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, PATTERNS, Pattern, builtin};

    #[test]
    fn every_pattern_is_found_by_each_of_its_programs() {
        let mut names = 0;
        for (rule, texts) in PATTERNS {
            for text in *texts {
                let pattern = Pattern::new(text).expect("a pattern");
                for program in &pattern.programs {
                    names += 1;
                    let found = builtin(program);
                    assert!(
                        found.iter().any(|(it, its)| **it == pattern && its == rule),
                        "{program}: {text}"
                    );
                }
            }
        }
        assert_eq!(names, NAMES);
        assert!(builtin("cat").is_empty() && builtin("").is_empty());
    }
}
