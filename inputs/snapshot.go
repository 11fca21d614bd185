package inputs

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Snapshot writes the rows of its first complete pass to an Arrow file in a folder. Later passes, also in other processes, read them from
// there, as with tf.data's snapshot. The steps before it do not run again, and give the same rows in every epoch: put Snapshot before
// Shuffle. A pass that ends early leaves no file.
//
// The file's name has a fingerprint of the steps before it, the options of readers, and the paths, sizes and times of files. It covers
// neither what functions compute nor rows in memory: delete the file when they change, and give pipelines that differ only in these
// separate folders.
func Snapshot(dir string) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if dir == "" {
			return up.refuse("snapshot needs a folder: name one")
		}
		if IsURL(dir) {
			return up.refuse("snapshot %s: expected a folder of this machine, by an absolute path where data_dir is a URL", dir)
		}
		d := up.derive("snapshot", nil)
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			s := &snapshotStage{node: d, in: up, epoch: epoch, path: snapshotPath(dir, up, fileShareOf(ctx))}
			if err := s.open(ctx); err != nil {
				_ = s.close() // the error to report is known
				return nil, err
			}
			return s, nil
		}
		return d
	}
}

// snapshotPath returns the path of the file for a pipeline's rows.
func snapshotPath(dir string, up *node, share fileShare) string {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s\n%s\n%d/%d\n", up.desc, up.schema, share.index, share.count)
	up.printOrigins(h)
	return filepath.Join(dir, fmt.Sprintf("snapshot-%x.arrow", h.Sum(nil)))
}

// snapshotStage reads the file if it exists. Otherwise it passes on upstream's rows, and writes them to the file.
type snapshotStage struct {
	node  *node
	in    *node
	epoch int64
	path  string

	up     stage
	saved  bool            // up reads the file
	writer *snapshotWriter // nil: the file is not written in this pass
}

func (s *snapshotStage) open(ctx context.Context) error {
	if _, err := os.Stat(s.path); err == nil {
		return s.openSaved(ctx)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := s.openUp(ctx); err != nil {
		return err
	}
	var err error
	s.writer, err = newSnapshotWriter(s.path, s.node.schema)
	return err
}

func (s *snapshotStage) openUp(ctx context.Context) (err error) {
	s.saved = false
	s.up, err = s.in.open(withoutBatchMemory(ctx), s.epoch)
	return err
}

func (s *snapshotStage) openSaved(ctx context.Context) error {
	ds, err := ArrowFile([]string{s.path}, ArrowOptions{Allocator: s.node.mem})
	if err == nil && !ds.Schema().Equal(s.node.schema) {
		err = fmt.Errorf("snapshot %s has the columns %s, expected %s: delete it", s.path, ds.Schema(), s.node.schema)
	}
	if err != nil {
		return err
	}
	n := adopt(ds)
	s.saved = true
	s.up, err = n.open(fileShare{}.in(ctx), 0) // the file has only the rows of this share
	return err
}

func (s *snapshotStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if s.saved {
		return s.pullSaved(ctx, limit)
	}
	rec, err := s.up.pull(ctx, limit)
	if err != nil && !eof(err) && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		s.dropWriter() // rows may be missing from now on
	}
	if s.writer == nil || err != nil && !eof(err) {
		return rec, err
	}
	if eof(err) {
		w := s.writer
		s.writer = nil
		if fail := w.publish(); fail != nil {
			return nil, fail
		}
		return nil, io.EOF
	}
	if err := s.writer.write(rec); err != nil {
		s.dropWriter()
		rec.Release()
		return nil, err
	}
	return rec, nil
}

// pullSaved reads rows of the file with our schema, which has the default values of columns.
func (s *snapshotStage) pullSaved(ctx context.Context, limit int) (arrow.Record, error) {
	rec, err := s.up.pull(fileShare{}.in(ctx), limit)
	if errors.Is(err, ErrEmpty) {
		return nil, io.EOF // the saved pass had no rows
	}
	return rec, err
}

func (s *snapshotStage) save(w *stateWriter) error {
	saved := int64(0)
	if s.saved {
		saved = 1
	}
	w.int(saved)
	return s.up.save(w)
}

func (s *snapshotStage) load(ctx context.Context, r *stateReader) error {
	saved := r.count(1) == 1
	if r.err != nil {
		return r.err
	}
	if err := s.close(); err != nil {
		return err
	}
	if !saved { // only later rows follow, so the file would be incomplete
		if err := s.openUp(ctx); err != nil {
			return err
		}
		return s.up.load(ctx, r)
	}
	if _, err := os.Stat(s.path); err != nil {
		return fmt.Errorf("%w: the position is in a snapshot that is gone (%v): restore it, or start the data afresh", ErrStateMismatch, err)
	}
	if err := s.openSaved(ctx); err != nil {
		return err
	}
	return s.up.load(fileShare{}.in(ctx), r)
}

// dropWriter discards the unfinished file.
func (s *snapshotStage) dropWriter() {
	if s.writer != nil {
		s.writer.file.Discard()
		s.writer = nil
	}
}

func (s *snapshotStage) close() error {
	s.dropWriter()
	if s.up == nil {
		return nil
	}
	up := s.up
	s.up = nil
	return up.close()
}

// snapshotWriter writes rows to a file that gets its name once it is complete.
type snapshotWriter struct {
	path string
	file *atomicfile.Pending
	w    *ipc.Writer
}

// snapshotAbandoned is how long an unfinished file must be unchanged before it is removed as left by a killed process: others may write
// to the same folder, perhaps without locks.
const snapshotAbandoned = time.Hour

func newSnapshotWriter(path string, schema *Schema) (*snapshotWriter, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	atomicfile.RemoveAbandoned(path, snapshotAbandoned)
	f, err := atomicfile.Create(atomicfile.OS{}, path)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if err := f.Hold(); err != nil {
		f.Discard()
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return &snapshotWriter{path, f, ipc.NewWriter(f, ipc.WithSchema(schema.Arrow()))}, nil
}

func (w *snapshotWriter) write(rec arrow.Record) error {
	whole, err := wholeCopy(rec)
	if err == nil {
		err = w.w.Write(whole)
		whole.Release()
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", w.path, err)
	}
	return nil
}

// publish gives the file its name.
func (w *snapshotWriter) publish() error {
	defer w.file.Discard()
	err := w.w.Close()
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.file.Commit()
	}
	if err == nil {
		err = atomicfile.SyncDir(atomicfile.OS{}, filepath.Dir(w.path))
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", w.path, err)
	}
	return nil
}
