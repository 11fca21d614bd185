package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/status"
)

func TestVersions(t *testing.T) {
	d := newDisk(t)
	for _, v := range []string{"3", "00000012", "7", "notes", "-1", "0x5"} {
		d.put("m", v, "ok")
	}
	d.put("dup", "5", "ok")
	d.put("dup", "005", "ok")
	d.put("empty", "notes", "ok")
	for _, c := range []struct{ model, policy, want string }{
		{"m", ``, "12"},
		{"m", `model_version_policy {}`, "12"},
		{"m", `model_version_policy {latest {}}`, "12"},
		{"m", `model_version_policy {latest {num_versions: 2}}`, "12 7"},
		{"m", `model_version_policy {latest {num_versions: 9}}`, "12 7 3"},
		{"m", `model_version_policy {all {}}`, "12 7 3"},
		{"m", `model_version_policy {specific {versions: 3 versions: 7 versions: 3}}`, "3 7"},
		{"m", `model_version_policy {specific {versions: 3 versions: 4}}`, "3; Version 4 of servable m, which was requested to be served as a 'specific' version in the servable's version policy, was not found in the file system"},
		{"m", `model_version_policy {specific {}}`, "; No specific versions requested for servable m: expected some in its version policy 'specific'"},
		{"dup", ``, "5; Duplicate version directories detected. Version 5 will be loaded from $/dup/5, $/dup/005 will be ignored"},
		{"empty", ``, "; No versions of servable empty found under base path $/empty. Did you forget to name your leaf directory as a number (eg. '/1/')?"},
		{"none", ``, "; Could not find base path $/none for servable none with error open $/none: no such file or directory"},
	} {
		cfg := parse(t, fmt.Sprintf(`model_config_list {config {name: %q base_path: %q model_platform: "tensorflow" %s}}`, c.model, d.base(c.model), c.policy))
		now, warning, err := scanConfig(cfg.GetModelConfigList().GetConfig()[0], scanResult{}, asked)
		var got []string
		for _, v := range now.chosen {
			got = append(got, fmt.Sprint(v.number))
		}
		text := strings.Join(got, " ")
		if warning != "" {
			text += "; " + strings.ReplaceAll(warning, d.root, "$")
		}
		if text != c.want || (err != nil) != (c.model == "none") {
			t.Errorf("%s %s: got %q, %v; want %q", c.model, c.policy, text, status.Convert(err).Err(), c.want)
		}
	}
}

// TestHalfCopiedBehindLink: the files of a version that is a link to a folder count.
func TestHalfCopiedBehindLink(t *testing.T) {
	d := newDisk(t)
	cfg := parse(t, fmt.Sprintf(`model_config_list {config {name: "m" base_path: %q model_platform: "tensorflow"}}`, d.base("m"))).GetModelConfigList().GetConfig()[0]
	d.put("m", "1", "ok")
	now, _, err := scanConfig(cfg, scanResult{}, asked)
	if err != nil {
		t.Fatal(err)
	}
	d.put("elsewhere", "two", "o")
	if err := os.Symlink(filepath.Join(d.base("elsewhere"), "two"), filepath.Join(d.base("m"), "2")); err != nil {
		t.Skip(err) // the system does not let us make links
	}
	for _, s := range []struct {
		content string
		want    int64
	}{{"o", 1}, {"on its", 1}, {"on its way", 1}, {"", 2}} {
		if s.content != "" {
			d.put("elsewhere", "two", s.content)
		}
		next, _, err := scanConfig(cfg, now, polled)
		if err != nil || len(next.chosen) != 1 || next.chosen[0].number != s.want {
			t.Errorf("with %q: got %v, %v, expected version %d", s.content, next.chosen, err, s.want)
		}
		now = next
	}
}

// TestHalfCopied: a version is ignored until its files were the same for a poll.
// The served version is kept meanwhile, even if it was removed.
func TestHalfCopied(t *testing.T) {
	d := newDisk(t)
	cfg := parse(t, fmt.Sprintf(`model_config_list {config {name: "m" base_path: %q model_platform: "tensorflow"}}`, d.base("m"))).GetModelConfigList().GetConfig()[0]
	d.put("m", "1", "ok")
	var now scanResult
	for _, s := range []struct {
		put, content, remove string
		why                  scanReason
		want                 string
	}{
		{"", "", "", asked, "1"},
		{"2", "o", "", hinted, "1"},
		{"2", "on", "", polled, "1"},
		{"2", "on its", "1", polled, "1"}, // removed too early, and kept
		{"2", "on its way", "", hinted, "1"},
		{"", "", "", hinted, "1"}, // a hint is not a poll
		{"", "", "", polled, "2"},
		{"2", "changed while it is served", "", polled, "2"},
		{"3", "o", "", hinted, "2"},
		{"4", "o", "", hinted, "2"},
		{"3", "on its way", "", polled, "4"},
		{"", "", "", polled, "4"},
		{"5", "ok", "", asked, "5"}, // a reload uses what exists
		{"", "", "5", polled, "4"},
		{"5", "again", "", polled, "4"},
		{"", "", "", polled, "5"},
	} {
		if s.put != "" {
			d.put("m", s.put, s.content)
		}
		if s.remove != "" {
			d.remove("m", s.remove)
		}
		next, _, err := scanConfig(cfg, now, s.why)
		if err != nil || len(next.chosen) != 1 || fmt.Sprint(next.chosen[0].number) != s.want {
			t.Errorf("%+v: got %v, %v", s, next.chosen, err)
		}
		now = next
	}
}
