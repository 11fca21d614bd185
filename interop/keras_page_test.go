package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/docs/snippets"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestKerasPage runs the Python side of docs/migrate-keras.md; the other side runs with all pages.
func TestKerasPage(t *testing.T) {
	peers(t)
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "migrate-keras.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := snippets.Blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, b := range blocks {
		var cmd *exec.Cmd
		switch {
		case b.Language == "sh" && strings.HasPrefix(b.Text, "awk"): // makes the data
			cmd = exec.CommandContext(t.Context(), "bash", "-e", "-c", b.Text)
		case b.Language == "python":
			cmd = exec.CommandContext(t.Context(), venv("python"), "-c", b.Text)
			cmd.Env = peerEnvironment()
		default:
			continue
		}
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("line %d: %v\n%s", b.Line, err, out)
		}
		if b.Language == "python" && !strings.HasSuffix(string(out), "better than 0.9\n") {
			t.Errorf("line %d: got %q, expected what the page's config reaches", b.Line, out)
		}
	}
}
