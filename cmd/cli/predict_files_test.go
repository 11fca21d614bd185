package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFilesToPredict: a file of examples matches by any of its names, and a folder of images is one input.
func TestFilesToPredict(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"days/may/1.csv", "days/2.csv"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		input, output string
		folders       bool
		want, err     string
	}{
		{"days", "out/*.csv", false, "out/2.csv out/may/1.csv", ""},
		{"days", "out/*.csv", true, "out/days.csv", ""},
		{"file://" + filepath.ToSlash(dir) + "/days", "out/*.csv", true, "out/days.csv", ""},
		{"days", filepath.ToSlash(dir) + "/days/*.csv", false, "", "days/2.csv is a file of examples"},
		{filepath.ToSlash(dir) + "/days", "days/*.csv", false, "", "days/2.csv is a file of examples"},
	} {
		list, _, err := new(app).filesToPredict(t.Context(), c.input, c.output, c.folders)
		var got []string
		for _, f := range list {
			got = append(got, filepath.ToSlash(f.output))
		}
		if !slices.Equal(got, strings.Fields(c.want)) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(filepath.ToSlash(err.Error()), c.err) {
			t.Errorf("%s to %s: got %q, %v, expected %q, %q", c.input, c.output, got, err, c.want, c.err)
		}
	}
}
