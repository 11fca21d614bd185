package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// module is a module that is linked into a binary, or Go's standard library.
type module struct {
	path, version, sum string
	dir                string // of its source
	licence            string // SPDX name, "" if unknown
	texts              []text
}

// text is a licence or notice file.
type text struct {
	name    string
	content []byte
}

// linked returns the modules that a binary was linked from, with licences. Their sources must be in the module cache.
func linked(info *buildinfo.BuildInfo) ([]module, error) {
	args := []string{"list", "-m", "-json"}
	var out []module
	for _, d := range info.Deps {
		if d.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: its licence is that of another module", d.Path, d.Replace.Path)
		}
		out = append(out, module{path: d.Path, version: d.Version, sum: d.Sum})
		args = append(args, d.Path)
	}
	dirs, err := sources(args)
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	out = append(out, module{path: "std", version: info.GoVersion})
	dirs["std@"+info.GoVersion] = string(bytes.TrimSpace(root))
	for i := range out {
		m := &out[i]
		if m.dir = dirs[m.path+"@"+m.version]; m.dir == "" {
			return nil, fmt.Errorf("%s %s is not in the module cache, or this module needs another version: go mod download", m.path, m.version)
		}
		if err := m.read(); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return out, nil
}

// sources returns the folders of modules, by path@version, from the output of go list.
func sources(args []string) (map[string]string, error) {
	text, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	dirs := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
}

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([-._].*)?$`)

var readme = regexp.MustCompile(`(?i)^readme([-._].*)?$`)

// read reads the licences at the top of a module's folder, or if there are none, the licences in its README.
func (m *module) read() error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	if err := m.readFiles(entries, licenceFile); err != nil || len(m.texts) > 0 {
		return err
	}
	if err := m.readFiles(entries, readme); err != nil {
		return err
	}
	if m.licence == "" {
		m.texts = nil
	}
	return nil
}

func (m *module) readFiles(entries []os.DirEntry, names *regexp.Regexp) error {
	for _, e := range entries {
		if e.IsDir() || !names.MatchString(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, text{e.Name(), b})
		if name := classify(b); m.licence == "" || slices.Contains(copyleft, name) {
			m.licence = name
		}
	}
	return nil
}
