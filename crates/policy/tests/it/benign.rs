//! What people and agents do all day, some of it with dangerous-looking text: nothing of it may be flagged.

use super::check;
use policy::Decision::Allow;

#[test]
#[rustfmt::skip]
fn version_control() {
    check(
        Allow,
        &[
            "git status", "git diff --stat HEAD~3", "git log --oneline --graph -20",
            "git add -A && git commit -m 'fix: rm -rf / is denied now'",
            "git commit -m \"$(cat <<'EOF'\nfeat: block `rm -rf /`\n\nDo not run dd of=/dev/sda.\nEOF\n)\"",
            "git push origin HEAD", "git push --set-upstream origin feature/x", "git checkout -b fix/y",
            "git checkout main -- src/lib.rs", "git stash pop", "git rebase main", "git rebase --abort",
            "git merge --no-ff dev", "git cherry-pick abc123", "git show HEAD:src/main.rs | head -50",
            "git branch --merged | grep -v main", "git fetch --all --prune", "git -C sub status",
            "git reset --soft HEAD~1", "git reset HEAD file.txt", "git tag v1.0.0",
            "git blame -L 10,20 src/x.rs", "git worktree add ../wt-x x", "git bisect start",
            "git config user.name", "git config --global --list", "git clean -nd",
            "git rm --cached secrets.txt", "git restore --staged src", "git diff | wc -l",
            "git ls-files '*.rs' | xargs wc -l", "git log --format='%h %s' | grep -i 'drop table'",
            "git rev-parse --show-toplevel", "cd \"$(git rev-parse --show-toplevel)\" && make",
            "git submodule update --init --recursive", "gh pr create --fill",
            "gh pr view 12 --json title,body", "gh run list --limit 5", "gh issue list --label bug",
            "git grep -n 'rm -rf'", "git commit --amend --no-edit", "git stash push -m wip", "git remote -v",
            "git shortlog -sn", "git apply fix.patch", "git archive HEAD | tar t",
        ],
    );
}

#[test]
#[rustfmt::skip]
fn builds_and_tests() {
    check(
        Allow,
        &[
            "cargo build --release", "cargo test -p policy -- --nocapture",
            "cargo clippy --all-targets -- -D warnings", "cargo run -- check 'rm -rf /'", "cargo clean",
            "cargo add serde", "cargo fmt && cargo nextest run",
            "RUST_LOG=debug RUST_BACKTRACE=1 cargo test 2>&1 | tail -50", "npm ci && npm run build",
            "npm install --save-dev typescript", "npm test -- --watch=false", "npx tsc --noEmit",
            "pnpm -r build", "yarn lint --fix", "node --version", "node -e 'console.log(\"rm -rf /\")'",
            "node -p 'require(\"./package.json\").version'",
            "rm -rf node_modules package-lock.json && npm install",
            "python3 -m venv .venv && . .venv/bin/activate && pip install -e '.[dev]'",
            "pytest -xvs tests/test_a.py::test_b", "python -m pytest -k 'not slow'",
            "python3 -c 'import sys; print(sys.version)'", "python manage.py migrate",
            "pip install -U pip wheel", "uv sync && uv run pytest", "poetry install", "ruff check . --fix",
            "mypy src", "make -j$(nproc)", "make clean && make",
            "cmake -B build -S . && cmake --build build", "./configure --prefix=/usr/local && make",
            "go build ./... && go test ./...", "go mod tidy", "mvn -q package", "./gradlew assembleDebug",
            "bundle exec rspec", "rake test", "dotnet build", "tox -e py311", "bazel test //...",
            "just build", "ninja -C out", "timeout 60 cargo test", "time make",
            "nohup npm start > server.log 2>&1 &", "npm run dev & sleep 2; curl -s localhost:3000/health",
            "for i in 1 2 3; do cargo test && break; done", "CC=clang make",
            "export NODE_ENV=test && npm test", "PATH=\"$PWD/node_modules/.bin:$PATH\" eslint .",
            "watch -n1 'ls -la target'", "env RUST_LOG=info ./target/debug/app --help",
        ],
    );
}

#[test]
#[rustfmt::skip]
fn files_and_text() {
    check(
        Allow,
        &[
            "ls -la", "ls -la ~/.ssh", "find . -name '*.rs' | xargs grep -l unwrap",
            "find . -type d -name node_modules -prune -exec rm -rf {} +",
            "find . -name '__pycache__' -exec rm -r {} +", "find /tmp/x -mtime +7 -delete",
            "find src -name '*.py' -exec sed -i 's/a/b/g' {} +", "grep -rn 'curl | bash' docs/",
            "rg -n 'DROP TABLE' --type sql", "sed -i 's/foo/bar/' src/*.rs", "sed -n '1,20p' file",
            "awk -F: '{print $1}' /etc/passwd", "awk '{s+=$1} END {print s}' x",
            "cut -d, -f2 a.csv | sort | uniq -c | sort -rn | head", "cat /etc/os-release",
            "cat /proc/cpuinfo | grep model", "head -c 100 /dev/urandom | xxd", "tr -d '\\r' < a > b",
            "jq -r '.[] | .name' x.json", "diff -u a b > c.patch",
            "mkdir -p build/out && cp -r assets build/out/", "mv old.txt new.txt", "mv src/a.rs src/b/",
            "ln -s ../a b", "touch .gitkeep", "chmod +x scripts/run.sh", "chmod -R u+w vendor",
            "rm -f *.log", "rm -r tmp/cache", "rm -rf ./dist/*", "rm -rf target/debug/incremental",
            "rm \"$(ls -t *.log | tail -1)\"",
            "tmp=$(mktemp -d) && cd \"$tmp\" && git init && rm -rf \"$tmp\"",
            "tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT", "clean() { rm -rf \"$1\"; }; clean build",
            "wipe() { local d=$1; rm -rf \"./$d\"; }", "tar czf out.tgz src", "tar xf a.tar -C /tmp",
            "unzip -o a.zip -d build", "du -sh * | sort -h", "df -h", "wc -l $(git ls-files)",
            "xargs -a list.txt rm -f", "rsync -a src/ build/", "echo 'a: b' >> config.yml",
            "cat > a.py <<'EOF'\nimport os\nprint('rm -rf /')\nEOF",
            "cat <<EOF > notes.md\nNever run `echo rm` -rf /\nEOF", "printf '%s\\n' a b > list",
            "tee out.log < in", "echo $((1+2))", "dd if=/dev/zero of=disk.img bs=1M count=10",
            "less README.md", "file a.out", "stat -c %s a", "readlink -f .", "basename \"$PWD\"",
            "test -f a && echo yes", "[ -d x ] || mkdir x", "[[ $x == *.rs ]] && echo rust",
            "while read -r l; do echo \"$l\"; done < a",
            "for f in *.png; do convert \"$f\" \"${f%.png}.jpg\"; done", "seq 1 10 | xargs -I{} echo {}",
            "sort -u -o a a", "split -l 100 big part-", "comm -12 <(sort a) <(sort b)", "paste -sd, a",
            "column -t x", "truncate -s 1M disk.img", "shred -u tmp-key", "install -m755 x bin/x",
            "echo \"rm -rf /\" | tee docs/danger.md", "python3 - <<'E'\nopen('out.txt','w').write('x')\nE",
            "perl -pi -e 's/a/b/' src/a.rs", "ruby -e 'puts 1'",
            "export $(grep -v '^#' .env | xargs) && npm start", "set -a; source .env; set +a; ./run",
            "cp .env.example .env", "test -f .env && echo ok", "ls ~ /tmp /usr/bin | head",
            "cd /usr/share/doc && ls",
        ],
    );
}

#[test]
#[rustfmt::skip]
fn network_containers_and_services() {
    check(
        Allow,
        &[
            "curl -sSf https://example.com/health",
            "curl -s https://api.github.com/repos/a/b | jq .stargazers_count",
            "curl -X POST -H 'Content-Type: application/json' -d '{\"a\":1}' http://localhost:8080/x",
            "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.com",
            "curl -o out.json https://example.com/a.json",
            "wget -q https://example.com/a.tgz && tar xzf a.tgz",
            "curl -fsSL https://example.com/i.sh -o i.sh && less i.sh", "ping -c1 example.com",
            "dig +short example.com", "nc -zv localhost 5432", "ssh host uptime",
            "ssh -i ~/.ssh/id_ed25519 host 'df -h'", "scp build.tgz host:/srv/",
            "rsync -avz dist/ host:/var/www/", "ss -tlnp", "lsof -i :3000", "ip addr show",
            "netstat -an | grep LISTEN", "openssl x509 -in cert.pem -noout -text", "docker build -t x .",
            "docker run --rm -it -v \"$PWD\":/src x bash", "docker compose up -d", "docker compose down",
            "docker logs -f x", "docker exec -it x bash", "docker ps -aq",
            "docker run --rm alpine echo rm -rf /", "docker stop x", "docker images", "kubectl get pods -A",
            "kubectl apply -f k8s/", "kubectl logs deploy/x", "kubectl describe node n",
            "kubectl port-forward svc/x 8080:80", "helm upgrade --install x ./chart", "helm template .",
            "terraform plan", "terraform init", "aws s3 ls", "aws s3 cp a s3://b/a",
            "systemctl status nginx", "journalctl -u x --since today", "ps aux | grep node",
            "pgrep -f server", "kill %1", "kill -TERM 1234", "kill $(cat server.pid)", "top -b -n1 | head",
            "crontab -l", "id", "whoami", "uname -a", "uptime", "free -m", "env | grep PATH",
            "printenv HOME", "which node", "type ls", "command -v cargo >/dev/null || echo missing",
            "date +%s", "sleep 1", "eval \"$(ssh-agent -s)\"", "eval \"$(direnv hook bash)\"",
            "source <(kubectl completion bash)", "psql -c 'SELECT count(*) FROM users'",
            "psql -f migrations/1.sql", "mysql -e 'SHOW TABLES'", "sqlite3 a.db '.tables'",
            "sqlite3 a.db \"DELETE FROM x WHERE id = 3\"", "redis-cli ping", "redis-cli get x",
            "pg_dump db > dump.sql", "mongosh --eval 'db.x.find()'", "apt list --installed",
            "brew install jq", "man rm", "tldr dd", "history | tail", "echo done", "xdg-open x.html",
            "terraform destroy --help", "sudo --help", "kubectl delete --help", "split -b 1M big part-",
            "python3 -c \"import os; [print(f) for f in os.listdir('/etc')]\"", "gzip -9 out.log && gunzip -k a.gz",
            "declare -n ref=x; x=build; rm -rf $ref", "python3 -c \"getattr(str, 'upper')('rm -rf /')\"",
            "code .", "vim +10 a.rs", "tmux ls", "screen -ls",
        ],
    );
}
