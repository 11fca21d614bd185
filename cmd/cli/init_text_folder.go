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

// textFolder is a folder with a folder of texts for each class.
type textFolder struct {
	dir     string
	unused  string // a folder of tests beside it
	classes []string
	files   [][]string // of each class
}

// The columns of the table that is made of a folder of texts.
const (
	textColumn  = "text"
	classColumn = "label"
)

// longestText is how many bytes a text may have.
const longestText = 1 << 20

// textsOf looks for texts in the folders of a folder, or of the folder train in it. It returns nil where there are none, or as many images or sounds.
func textsOf(dir string) (*textFolder, error) {
	names, err := inputs.ImageClasses(dir)
	if err != nil {
		return nil, nil // which the look for images says
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
		return nil, nil // a licence, captions or transcripts beside the files, or nothing
	}
	if len(t.classes) == 1 {
		return nil, fmt.Errorf("%s has texts in one folder, %s: expected one for each class, and at least two classes", t.dir, t.classes[0])
	}
	return t, nil
}

// textsIn are the texts in a folder, and how many images and sounds are beside them.
func textsIn(dir string) (texts []string, others int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case isImage(e.Name()), isSound(e.Name()):
			others++
		case strings.EqualFold(filepath.Ext(e.Name()), ".txt"):
			if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
				continue // a folder, or a pipe, which may have no end
			}
			texts = append(texts, path)
		}
	}
	return texts, others, err
}

// texts is how many there are.
func (t *textFolder) texts() int {
	n := 0
	for _, files := range t.files {
		n += len(files)
	}
	return n
}

// write makes a table of the texts, with a row for each.
func (t *textFolder) write(path string) error {
	p, err := atomicfile.Create(atomicfile.OS{}, path)
	if err != nil {
		return err
	}
	defer p.Discard()
	w := csv.NewWriter(p)
	_ = w.Write([]string{textColumn, classColumn}) // Error below has it
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

// readText reads a text without its byte order mark; bytes that are not UTF-8 become the mark that stands for them.
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
