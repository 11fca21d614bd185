package objectstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"gocloud.dev/blob"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// DefaultMaxBytes is the default limit on the size of a version.
const DefaultMaxBytes = 64 << 30

// Options of a Store.
type Options struct {
	Dir      string // the Store makes a folder of its own in it; "": the system's for temporary files
	MaxBytes int64  // of a version; 0: DefaultMaxBytes
	// Open opens the bucket of a URL without a path.
	Open func(ctx context.Context, url string) (*blob.Bucket, error)
	// Pick returns the versions of a model that are to be served, out of there.
	Pick func(m *config.ModelConfig, there []int64) []int64
	Log  *slog.Logger // nil: nowhere
}

// Store copies models. It is safe for concurrent use. It must be closed.
type Store struct {
	o   Options
	dir string

	work    chan struct{} // holds a token while models are copied; guards the rest
	closed  bool
	urls    map[string]string // by folder
	buckets map[string]*blob.Bucket
	seen    map[string]listing // listings of versions that are not copied yet, by their folders
	logged  map[string]string  // the last error of a model, so that it is logged once
}

// New returns a Store.
func New(o Options) *Store {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{o: o, work: make(chan struct{}, 1), urls: map[string]string{}, buckets: map[string]*blob.Bucket{}, seen: map[string]listing{}, logged: map[string]string{}}
}

// begin waits until no other goroutine copies models.
func (s *Store) begin(ctx context.Context) error {
	select {
	case s.work <- struct{}{}:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (s *Store) end() { <-s.work }

// Fetch returns the config with local folders in place of URLs, once the folders hold the versions that are to be served. It returns an
// error, with a gRPC status, if none of a model's versions could be copied.
func (s *Store) Fetch(ctx context.Context, cfg *config.ModelServerConfig) (*config.ModelServerConfig, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if s.closed {
		return nil, status.Error(codes.Unavailable, "the server is shutting down")
	}
	if !slices.ContainsFunc(cfg.GetModelConfigList().GetConfig(), func(m *config.ModelConfig) bool { return IsURL(m.GetBasePath()) || s.urls[m.GetBasePath()] != "" }) {
		return cfg, nil
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp(s.o.Dir, "goestimator-models-")
		if err != nil {
			return nil, status.Errorf(codes.Internal, "folder for models: %v", err)
		}
		s.dir = dir
	}
	out, err := localized(cfg, func(base string) string {
		dir := filepath.Join(s.dir, folder(base))
		s.urls[dir] = base
		return dir
	})
	if err != nil {
		return nil, err
	}
	for _, m := range out.GetModelConfigList().GetConfig() {
		if s.urls[m.GetBasePath()] == "" {
			continue
		}
		if err := s.sync(ctx, out, m, true); err != nil && !s.has(m.GetBasePath()) {
			return nil, status.Errorf(codes.Unavailable, "model %s: %v", m.GetName(), err)
		}
	}
	return out, nil
}

// Poll looks for new versions of the models of a config that Fetch has returned, and copies the versions that have not changed since the
// last look. Each error is logged once.
func (s *Store) Poll(ctx context.Context, cfg *config.ModelServerConfig) {
	if s.begin(ctx) != nil {
		return
	}
	defer s.end()
	for _, m := range cfg.GetModelConfigList().GetConfig() {
		if s.urls[m.GetBasePath()] != "" {
			_ = s.sync(ctx, cfg, m, false) // logged
		}
	}
}

// sync copies the versions of a model of cfg that are to be served, and logs errors. Unless asked, a version must be unchanged since the
// last look.
func (s *Store) sync(ctx context.Context, cfg *config.ModelServerConfig, m *config.ModelConfig, asked bool) error {
	err := s.syncModel(ctx, cfg, m, asked)
	text := ""
	if err != nil {
		err = fmt.Errorf("%s: %w", s.urls[m.GetBasePath()], err)
		text = err.Error()
	}
	if text != "" && text != s.logged[m.GetName()] && ctx.Err() == nil {
		s.o.Log.Warn("looking for versions", "model", m.GetName(), "problem", text)
	}
	s.logged[m.GetName()] = text
	return err
}

func (s *Store) syncModel(ctx context.Context, cfg *config.ModelServerConfig, m *config.ModelConfig, asked bool) error {
	dir := m.GetBasePath()
	at, err := bucket.Parse(s.urls[dir])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	b, err := s.bucket(ctx, at.Bucket)
	if err != nil {
		return err
	}
	there, err := versions(ctx, b, prefix(at))
	if err != nil {
		return err
	}
	if len(there) == 0 {
		return errors.New("no folder named by a number, such as 1")
	}
	var errs []error
	copied := false
	numbers := slices.Sorted(maps.Keys(there))
	for _, n := range s.o.Pick(m, numbers) {
		did, err := s.version(ctx, b, there[n], filepath.Join(dir, strconv.FormatInt(n, 10)), asked)
		if err != nil {
			errs = append(errs, fmt.Errorf("version %d: %w", n, err))
		}
		copied = copied || did
	}
	if !copied && len(errs) == 0 { // while versions are being copied, the earlier ones stay
		errs = append(errs, s.drop(dir, s.pickedIn(cfg, dir, numbers)))
	}
	return errors.Join(errs...)
}

// pickedIn returns the versions that the models of cfg serve from a folder: several models may have the same URL.
func (s *Store) pickedIn(cfg *config.ModelServerConfig, dir string, there []int64) (picked []int64) {
	for _, m := range cfg.GetModelConfigList().GetConfig() {
		if m.GetBasePath() == dir {
			picked = append(picked, s.o.Pick(m, there)...)
		}
	}
	return picked
}

// version copies a version, unless it is here, and reports whether it was copied or still has to be.
func (s *Store) version(ctx context.Context, b *blob.Bucket, prefix, dir string, asked bool) (bool, error) {
	if _, err := os.Stat(dir); err == nil {
		return false, nil
	}
	l, err := list(ctx, b, prefix)
	if err != nil {
		return false, err
	}
	if before, ok := s.seen[dir]; !asked && (!ok || !before.equal(l)) || len(l) == 0 {
		s.seen[dir] = l
		return true, nil
	}
	err = s.download(ctx, b, prefix, l, dir)
	if errors.Is(err, errChanged) {
		s.seen[dir] = nil
		return true, err
	}
	if err == nil {
		delete(s.seen, dir)
		s.o.Log.Info("version copied", "from", prefix, "bytes", l.size(), "objects", len(l))
	}
	return true, err
}

// drop removes versions that are no longer picked. A server that has loaded a version does not need its files any more.
func (s *Store) drop(dir string, picked []int64) error {
	children, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, c := range children {
		if n, err := strconv.ParseInt(c.Name(), 10, 64); err == nil && !slices.Contains(picked, n) {
			if err := os.RemoveAll(filepath.Join(dir, c.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// has reports whether a folder holds a version.
func (s *Store) has(dir string) bool {
	children, _ := os.ReadDir(dir)
	return slices.ContainsFunc(children, func(c os.DirEntry) bool {
		_, err := strconv.ParseInt(c.Name(), 10, 64)
		return err == nil
	})
}

// bucket opens each bucket once.
func (s *Store) bucket(ctx context.Context, url string) (*blob.Bucket, error) {
	if b := s.buckets[url]; b != nil {
		return b, nil
	}
	b, err := s.o.Open(ctx, url)
	if err == nil {
		s.buckets[url] = b
	}
	return b, err
}

// Close closes the buckets and removes the copies.
func (s *Store) Close() error {
	s.work <- struct{}{}
	defer s.end()
	s.closed = true
	var errs []error
	for _, b := range s.buckets {
		errs = append(errs, b.Close())
	}
	clear(s.buckets)
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
		s.dir = ""
	}
	return errors.Join(errs...)
}
