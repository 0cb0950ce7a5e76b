#!/usr/bin/env bash
# Audit the files of an action's inputs: a page for each, one summary, one JUnit file, and the gravest exit code.
# FILES, GATES and ARGUMENTS hold one item a line; patterns among FILES are expanded. REPORTS is a folder.
set -uo pipefail
shopt -s nullglob globstar

# items TEXT: the lines of a text that are not blank, without the blanks around them.
items() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    [ -z "$line" ] || printf '%s\0' "$line"
  done <<<"$1"
}

files=() asked=()
while IFS= read -r -d '' pattern; do
  IFS=
  # shellcheck disable=SC2206 # expanding the pattern is what it is for
  found=($pattern)
  unset IFS
  # What nothing matches is named, so that it is said not to be there.
  if [ "${#found[@]}" -eq 0 ]; then files+=("./$pattern"); else files+=("${found[@]/#/./}"); fi
done < <(items "$FILES")
while IFS= read -r -d '' gate; do asked+=("--fail-under=$gate"); done < <(items "$GATES")
while IFS= read -r -d '' argument; do asked+=("$argument"); done < <(items "${ARGUMENTS:-}")

mkdir -p "$REPORTS"
for file in "${files[@]}"; do
  page="${file#./}"
  bonwise audit "$file" "${asked[@]}" --html "$REPORTS/${page//\//_}.html" >/dev/null 2>&1 || true
done
bonwise audit "${files[@]}" "${asked[@]}" --markdown "$REPORTS/summary.md" --junit "$REPORTS/gates.xml"
code=$?
case $code in
  0) outcome=met ;;
  1) outcome="not met" ;;
  3) outcome=inconclusive ;;
  *) outcome="bad input" ;;
esac
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'outcome=%s\n' "$outcome" >>"$GITHUB_OUTPUT"
exit "$code"
