package snippets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	page := "a\n```sh\nls\n```\n\n  ```yaml file=a.yaml\n  x: 1\n    y: 2\n  ```\n```text output\nok\n```\n```sh skip=\"needs a cluster\"\nkubectl\n```\n"
	got, err := Blocks(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Line: 2, Language: "sh", Text: "ls\n"}, {Line: 6, Language: "yaml", File: "a.yaml", Text: "x: 1\n  y: 2\n"},
		{Line: 10, Language: "text", Output: true, Text: "ok\n"}, {Line: 13, Language: "sh", Skip: "needs a cluster", Text: "kubectl\n"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for page, want := range map[string]string{"```sh\nls\n": "line 1: the block does not end", "```sh luck\n```\n": `option "luck"`} {
		if _, err := Blocks(page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, expected %q", page, err, want)
		}
	}
}
