package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Characters are numbered; 0 stands for any that is not in the list.
const (
	characters = "\x00\n\t !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
	vocabulary = len(characters)
)

// encode numbers the characters of a text.
func encode(text []byte) []uint8 {
	var number [256]uint8
	for i, c := range []byte(characters) {
		number[c] = uint8(i)
	}
	out := make([]uint8, len(text))
	for i, c := range text {
		out[i] = number[c]
	}
	return out
}

// texts returns texts of context+1 characters, one after the other: what to train on, or what to evaluate on.
func (f *flags) texts(train bool) ([]uint8, error) {
	source, err := source(f.packages)
	if err != nil {
		return nil, err
	}
	each := f.net.Context + 1
	all := encode(source)
	count := len(all) / each
	if count < 10 {
		return nil, fmt.Errorf("%d characters in the source of %s: expected ten texts of %d or more", len(all), f.packages, each)
	}
	cut := count * 9 / 10
	if train {
		return all[:cut*each], nil
	}
	return all[cut*each : min(count, cut+1000)*each], nil
}

// source is the text of all Go files in a folder of the standard library, in the order of their names.
func source(packages string) ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the standard library: go env GOROOT: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src")
	if packages != "all" {
		dir = filepath.Join(dir, filepath.FromSlash(packages))
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var text []byte
	err = fs.WalkDir(folder.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := folder.ReadFile(path)
		text = append(text, data...)
		return err
	})
	return text, err
}
