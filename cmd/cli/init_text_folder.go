package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// textFolder is a folder with one subfolder of texts for each class.
type textFolder struct {
	dir     string
	unused  string // a test folder beside the training folder
	classes []string
	files   [][]string // of each class
}

// The columns of the table made from a folder of texts.
const (
	textColumn  = "text"
	classColumn = "label"
)

// longestText is the limit on the length of a text in bytes.
const longestText = 1 << 20

// textsOf looks for texts in the subfolders of a folder, or of its folder train. It returns nil if there are none, or as many images or sounds.
func textsOf(dir string) (*textFolder, error) {
	names, err := inputs.ImageClasses(dir)
	if err != nil {
		return nil, nil // imagesOf reports it
	}
	t := &textFolder{dir: dir}
	if slices.Contains(names, "train") && len(names) <= 3 {
		for _, n := range []string{"validation", "valid", "val", "test"} {
			if slices.Contains(names, n) {
				t.unused = filepath.Join(dir, n)
			}
		}
		t.dir = filepath.Join(dir, "train")
		if names, err = inputs.ImageClasses(t.dir); err != nil {
			return nil, nil
		}
	}
	described := 0
	for _, n := range names {
		files, others, err := textsIn(filepath.Join(t.dir, n))
		if err != nil {
			return nil, err
		}
		if described += others; len(files) > 0 {
			t.classes, t.files = append(t.classes, n), append(t.files, files)
		}
	}
	if described >= t.texts() {
		return nil, nil // the texts are a licence, captions or transcripts, or there are none
	}
	if len(t.classes) == 1 {
		return nil, fmt.Errorf("%s has texts in one folder, %s: expected one for each class, and at least two classes", t.dir, t.classes[0])
	}
	return t, nil
}

// textsIn returns the texts in a folder, and the number of images and sounds beside them.
func textsIn(dir string) (texts []string, others int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case isImage(e.Name()), isSound(e.Name()):
			others++
		case strings.EqualFold(filepath.Ext(e.Name()), ".txt"):
			if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
				continue // a folder, or a pipe, which may never end
			}
			texts = append(texts, path)
		}
	}
	return texts, others, err
}

// texts is the number of texts.
func (t *textFolder) texts() int {
	n := 0
	for _, files := range t.files {
		n += len(files)
	}
	return n
}

// write makes a table with a row for each text.
func (t *textFolder) write(path string) error {
	p, err := atomicfile.Create(atomicfile.OS{}, path)
	if err != nil {
		return err
	}
	defer p.Discard()
	w := csv.NewWriter(p)
	_ = w.Write([]string{textColumn, classColumn}) // Error reports it below
	for i, files := range t.files {
		for _, name := range files {
			text, err := readText(name)
			if err != nil {
				return err
			}
			_ = w.Write([]string{text, t.classes[i]})
		}
	}
	w.Flush()
	if err := errors.Join(w.Error(), p.Sync()); err != nil {
		return err
	}
	return p.Commit()
}

// readText reads a text without its byte order mark; bytes that are not UTF-8 become the replacement character.
func readText(name string) (text string, err error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, longestText+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > longestText {
		return "", fmt.Errorf("%s has more than %d bytes: expected a text of at most as many: divide it", name, longestText)
	}
	if tabular.IsUTF16(b) {
		return "", fmt.Errorf("%s is UTF-16, expected UTF-8: convert it, for example by iconv -f utf-16 -t utf-8", name)
	}
	text = strings.TrimPrefix(strings.ToValidUTF8(string(b), "\ufffd"), "\ufeff")
	return strings.TrimSpace(strings.ReplaceAll(text, "\x00", " ")), nil
}

// tableOfTexts makes a table of a folder of texts beside the config, and returns its path.
func (a *app) tableOfTexts(t *textFolder, dir string, f initFlags) (string, error) {
	path := filepath.Join(filepath.Dir(f.out), folderName(dir)+".csv")
	if _, err := os.Stat(path); err == nil && !f.force {
		return "", usage(fmt.Errorf("%s exists, where the table of the texts is to be: move it, or overwrite it by --force", path))
	}
	if err := t.write(path); err != nil {
		return "", err
	}
	fmt.Fprintf(a.stdout, "%s: %d texts in the folders of %d classes\nwrote %s: a table with the columns %s and %s\n", t.dir, t.texts(), len(t.classes), path, textColumn, classColumn)
	if t.unused != "" {
		fmt.Fprintf(a.stdout, "%s is not used: rows of %s are held out\n", t.unused, path)
	}
	return path, nil
}
