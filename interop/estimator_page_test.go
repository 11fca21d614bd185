package interop_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/docs/snippets"
	"github.com/goestimator/goestimator/internal/testkit"
)

// tfName matches a TensorFlow name on a page.
var tfName = regexp.MustCompile(`\btf(\.[A-Za-z_]\w*)+`)

// TestEstimatorPage runs the Python side of docs/migrate.md, and checks that the page's TensorFlow names exist. The other side
// runs with examples/outside.
func TestEstimatorPage(t *testing.T) {
	p := peers(t)
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "migrate.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := snippets.Blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Blocks []string `json:"blocks"`
		Names  []string `json:"names"`
	}
	for _, b := range blocks {
		if b.Language == "python" {
			page.Blocks = append(page.Blocks, b.Text)
		}
	}
	page.Names = tfName.FindAllString(string(text), -1)
	slices.Sort(page.Names)
	page.Names = slices.Compact(page.Names)
	given, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), p.path, filepath.Join("python", "estimator_page.py"))
	cmd.Env, cmd.Stdin = peerEnvironment(), bytes.NewReader(given)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, tail(stderr.String(), 4000))
	}
	if ran := strings.Count(string(out), "\n"); ran != len(page.Blocks) || ran < 9 || len(page.Names) < 40 {
		t.Errorf("%d of %d blocks ran, %d names\n%s", ran, len(page.Blocks), len(page.Names), out)
	}
}
