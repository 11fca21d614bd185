package datasets

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Done describes one file after Download.
type Done struct {
	File string
	URL  string // where it came from; empty: it was there already
}

// Download downloads a data set into a folder, which it creates. Files that are there and complete are kept.
func (d Downloader) Download(ctx context.Context, set Dataset, dir string) ([]Done, error) {
	if err := atomicfile.MkdirAll(atomicfile.OS{}, dir); err != nil {
		return nil, err
	}
	var all []Done
	for _, f := range set.Files {
		done, err := d.one(ctx, f, dir)
		if err != nil {
			return all, err
		}
		all = append(all, done...)
	}
	return all, nil
}

// one downloads one file, or the members of one archive.
func (d Downloader) one(ctx context.Context, f File, dir string) ([]Done, error) {
	wanted := f.Members
	if wanted == nil {
		wanted = []Member{{f.Name, f.Size, f.SHA256}}
	}
	var done []Done
	for _, m := range wanted {
		there, err := present(filepath.Join(dir, m.Name), m.Size, m.SHA256)
		if err != nil {
			return nil, err
		}
		if there {
			done = append(done, Done{File: m.Name})
		}
	}
	if len(done) == len(wanted) {
		return done, nil
	}
	p, err := openPart(filepath.Join(dir, f.Name))
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := removeTemporary(dir, f.Members); err != nil {
		return nil, err
	}
	url, err := d.fetch(ctx, f, p)
	if err != nil {
		return nil, err
	}
	if f.Members == nil {
		return []Done{{f.Name, url}}, p.commit()
	}
	if err := p.unpack(f.Members); err != nil {
		return nil, fmt.Errorf("%s: unpack: %w", f.Name, err)
	}
	done = nil
	for _, m := range f.Members {
		done = append(done, Done{m.Name, url})
	}
	return done, p.restart() // the archive is no longer needed
}

// unpack writes the members of the archive beside it.
func (p *part) unpack(members []Member) error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	z, err := gzip.NewReader(p.file)
	if err != nil {
		return err
	}
	wanted := map[string]Member{}
	for _, m := range members {
		wanted[m.Name] = m
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if m, ok := wanted[path.Base(h.Name)]; ok && h.Typeflag == tar.TypeReg {
			if err := writeMember(filepath.Join(filepath.Dir(p.path), m.Name), r, m); err != nil {
				return err
			}
			delete(wanted, m.Name)
		}
	}
	for name := range wanted {
		return fmt.Errorf("the archive does not have %s", name)
	}
	return atomicfile.SyncDir(atomicfile.OS{}, filepath.Dir(p.path))
}

// writeMember writes a file, which appears under its name once it is complete.
func writeMember(to string, r io.Reader, m Member) error {
	out, err := atomicfile.Create(atomicfile.OS{}, to)
	if err != nil {
		return err
	}
	defer out.Discard()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(r, m.Size+1))
	if err != nil {
		return err
	}
	if err := compare(n, h.Sum(nil), m.Size, m.SHA256); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return out.Commit()
}

// removeTemporary removes files of members that a killed process left behind. Only the process that holds the archive's part
// writes members, so no other process is writing them.
func removeTemporary(dir string, members []Member) error {
	for _, m := range members {
		left, err := filepath.Glob(filepath.Join(dir, m.Name+".*"))
		if err != nil {
			return err
		}
		for _, path := range left {
			if !atomicfile.IsTemp(path) {
				continue
			}
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}
