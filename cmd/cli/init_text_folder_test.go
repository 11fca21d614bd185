package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// textFiles writes texts into the folders of two classes.
func textFiles(t *testing.T, dir string, each int) {
	t.Helper()
	for class, word := range map[string]string{"good": "lovely, \"really\"\nlovely", "bad": "awful"} {
		if err := os.MkdirAll(filepath.Join(dir, class), 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			text := fmt.Sprintf("the soup %d was %s and the bread too\r\n", i, word)
			if i == 0 {
				text += "\xff\x00 caf\xc3\xa9"
			}
			if err := os.WriteFile(filepath.Join(dir, class, fmt.Sprintf("%d.txt", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestInitTextFolder: from a folder with one subfolder of texts for each class, init makes a table and a config that trains; the class
// folders may also be in a training folder.
func TestInitTextFolder(t *testing.T) {
	for _, below := range []string{"", "train"} {
		work := t.TempDir()
		dir, out := filepath.Join(work, "reviews [2021]"), filepath.Join(work, "config.yaml")
		textFiles(t, filepath.Join(dir, below), 30)
		if below != "" {
			textFiles(t, filepath.Join(dir, "test"), 5)
		}
		args := []string{"init", dir, "--no-search", "--out", out, "--model-dir", filepath.Join(work, "model")}
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), args, &stdout, &stderr); code != 0 {
			t.Fatalf("init: exit code %d: %s", code, stderr.String())
		}
		if !strings.Contains(stdout.String(), "60 texts in the folders of 2 classes") || strings.Contains(stdout.String(), "is not used") != (below != "") {
			t.Errorf("got %s", stdout.String())
		}
		stdout.Reset()
		if code := Run(t.Context(), []string{"train", "--config", out}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "accuracy=1\n") {
			t.Errorf("train: exit code %d: %s%s", code, stdout.String(), stderr.String())
		}
		stderr.Reset()
		if code := Run(t.Context(), append(args[:len(args):len(args)], "--out", filepath.Join(work, "other.yaml")), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "reviews [2021].csv exists") {
			t.Errorf("a table that exists: exit code %d: %s", code, stderr.String())
		}
	}
}

// TestInitShortTexts: one-word texts that all differ still count as texts.
func TestInitShortTexts(t *testing.T) {
	work := t.TempDir()
	for class, word := range map[string]string{"good": "yes%d", "bad": "no%d"} {
		dir := filepath.Join(work, "words", class)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), fmt.Appendf(nil, word, i), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := filepath.Join(work, "config.yaml")
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"init", filepath.Join(work, "words"), "--no-search", "--out", out}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if config, err := os.ReadFile(out); err != nil || !strings.Contains(string(config), "type: words") {
		t.Errorf("%v: expected a column of words, got\n%s", err, config)
	}
}

// TestInitTextFolderRefused: a folder without class folders is refused, and the error says what is expected.
func TestInitTextFolderRefused(t *testing.T) {
	long := t.TempDir()
	textFiles(t, long, 12)
	if err := os.WriteFile(filepath.Join(long, "good", "long.txt"), make([]byte, longestText+1), 0o600); err != nil {
		t.Fatal(err)
	}
	one := t.TempDir()
	textFiles(t, one, 12)
	if err := os.RemoveAll(filepath.Join(one, "bad")); err != nil {
		t.Fatal(err)
	}
	wide := t.TempDir()
	textFiles(t, wide, 12)
	if err := os.WriteFile(filepath.Join(wide, "good", "wide.txt"), []byte("\xff\xfea\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	few := t.TempDir()
	textFiles(t, few, 2)
	for dir, want := range map[string]string{long: "long.txt has more than 1048576 bytes", one: "texts in one folder, good", wide: "wide.txt is UTF-16", few: "4 rows with a label"} {
		var stdout, stderr bytes.Buffer
		out := t.TempDir()
		if code := Run(t.Context(), []string{"init", dir, "--out", filepath.Join(out, "c.yaml")}, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("exit code %d: %s: expected %q", code, stderr.String(), want)
		}
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 { // a table left behind would make the next attempt fail
			t.Errorf("%s: left %v, %v", want, left, err)
		}
	}
}

// TestInitFolderIsNoTable: flags for tables are refused for a folder, and named.
func TestInitFolderIsNoTable(t *testing.T) {
	for _, flag := range []string{"--label=x", "--leave-out=x", "--task=regression"} {
		var stdout, stderr bytes.Buffer
		name, _, _ := strings.Cut(flag, "=")
		if code := Run(t.Context(), []string{"init", t.TempDir(), flag, "--out", filepath.Join(t.TempDir(), "c.yaml")}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), name) {
			t.Errorf("%s: exit code %d: %s", flag, code, stderr.String())
		}
	}
}

// TestTextsBesideImages: a licence or captions beside images do not make a folder of texts; a few pictures beside texts do not make one of images.
func TestTextsBesideImages(t *testing.T) {
	for _, c := range []struct{ texts, images, want int }{{0, 1, 0}, {1, 1, 0}, {2, 1, 4}, {1, 0, 2}} {
		dir := t.TempDir()
		for _, class := range []string{"a", "b"} {
			if err := os.MkdirAll(filepath.Join(dir, class, "folder.txt"), 0o700); err != nil {
				t.Fatal(err)
			}
			for ending, n := range map[string]int{".TXT": c.texts, ".jpeg": c.images} {
				for i := range n {
					if err := os.WriteFile(filepath.Join(dir, class, fmt.Sprint(i, ending)), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		got, err := textsOf(dir)
		if err != nil || (got == nil) != (c.want == 0) || got != nil && got.texts() != c.want {
			t.Errorf("%d texts and %d images in each folder: %v, %v, expected %d texts", c.texts, c.images, got, err, c.want)
		}
	}
}

// TestReadText: the byte order mark is no part of a text.
func TestReadText(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte("\ufeff good\x00soup \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readText(name); got != "good soup" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestFolderName: a folder given as "." or ".." still has its own name.
func TestFolderName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reviews", "good")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for given, want := range map[string]string{".": "good", "..": "reviews", dir: "good", dir + "/": "good", "../good": "good", "other.d": "other", "/": "model"} {
		if got := folderName(given); got != want {
			t.Errorf("%q: got %q, expected %q", given, got, want)
		}
	}
}
