package objectstore

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	"github.com/goestimator/goestimator/internal/testkit/s3server"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/s3blob"
)

func TestFolders(t *testing.T) {
	if folder("s3://b/m") == folder("s3://b/m?region=x") || folder("s3://b/m") != folder("s3://b/m/") || strings.ContainsAny(folder("s3://b/../m"), "/\\") {
		t.Error("folders of URLs")
	}
}

// latest picks the newest version.
func latest(_ *config.ModelConfig, there []int64) []int64 { return there[len(there)-1:] }

func newStore(t *testing.T, o Options) *Store {
	t.Helper()
	o.Dir = t.TempDir()
	if o.Open == nil {
		o.Open = bucket.Open
	}
	if o.Pick == nil {
		o.Pick = latest
	}
	s := New(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("after Close: %v, %v", left, err)
		}
	})
	return s
}

func one(base string) *config.ModelServerConfig {
	return &config.ModelServerConfig{Config: &config.ModelServerConfig_ModelConfigList{ModelConfigList: &config.ModelConfigList{
		Config: []*config.ModelConfig{{Name: "m", BasePath: base}}}}}
}

const iris = "s3://models/iris?use_path_style=true"

// files lists the content of a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out = append(out, filepath.ToSlash(rel)+"="+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// A model in S3: the picked version is copied. A new one is copied once it is unchanged for one look, and the old one is removed. If the
// new one is withdrawn, the one before it returns.
func TestS3(t *testing.T) {
	web := s3server.New(t, "models")
	web.Put("iris/1/saved_model.pb", "one")
	web.Put("iris/2/saved_model.pb", "two")
	web.Put("iris/2/variables/variables.index", "index")
	web.Put("iris/2/variables/", "")
	web.Put("iris/notes/a", "x")
	web.Put("irises/9/saved_model.pb", "other")
	s := newStore(t, Options{})
	cfg, err := s.Fetch(t.Context(), one(iris))
	if err != nil {
		t.Fatal(err)
	}
	dir := cfg.GetModelConfigList().GetConfig()[0].GetBasePath()
	expect := func(what, want string) {
		t.Helper()
		if got := files(t, dir); got != want {
			t.Errorf("%s: got %s, expected %s", what, got, want)
		}
	}
	expect("at first", "2/saved_model.pb=two 2/variables/variables.index=index")
	if web.Reads("iris/1/saved_model.pb") != 0 {
		t.Error("a version that is not served was read")
	}
	web.Put("iris/3/saved_model.pb", "thr")
	s.Poll(t.Context(), cfg)
	web.Put("iris/3/saved_model.pb", "three")
	s.Poll(t.Context(), cfg)
	expect("while version 3 changes", "2/saved_model.pb=two 2/variables/variables.index=index")
	s.Poll(t.Context(), cfg)
	expect("when version 3 has come", "2/saved_model.pb=two 2/variables/variables.index=index 3/saved_model.pb=three")
	s.Poll(t.Context(), cfg)
	expect("a look later", "3/saved_model.pb=three")
	if n := web.Reads("iris/3/saved_model.pb"); n != 1 {
		t.Errorf("version 3 was read %d times", n)
	}
	web.Remove("iris/3/")
	for range 3 {
		s.Poll(t.Context(), cfg)
	}
	expect("when version 3 was taken back", "2/saved_model.pb=two 2/variables/variables.index=index")
	web.Remove("iris/")
	s.Poll(t.Context(), cfg)
	expect("when nothing is left", "2/saved_model.pb=two 2/variables/variables.index=index")
}

// Two models at one URL keep the versions of each other: a stable one, and the newest.
func TestTwoModelsAtOneURL(t *testing.T) {
	web := s3server.New(t, "models")
	web.Put("iris/1/saved_model.pb", "one")
	web.Put("iris/2/saved_model.pb", "two")
	s := newStore(t, Options{Pick: func(m *config.ModelConfig, there []int64) []int64 {
		if m.GetName() == "stable" {
			return []int64{1}
		}
		return latest(m, there)
	}})
	given := one(iris)
	list := given.GetModelConfigList()
	list.Config = append(list.Config, &config.ModelConfig{Name: "stable", BasePath: iris})
	cfg, err := s.Fetch(t.Context(), given)
	if err != nil {
		t.Fatal(err)
	}
	dir := cfg.GetModelConfigList().GetConfig()[0].GetBasePath()
	for range 4 {
		s.Poll(t.Context(), cfg)
		if got, want := files(t, dir), "1/saved_model.pb=one 2/saved_model.pb=two"; got != want {
			t.Errorf("got %s, expected %s", got, want)
		}
	}
	web.Put("iris/3/saved_model.pb", "three")
	for range 3 {
		s.Poll(t.Context(), cfg)
	}
	if got, want := files(t, dir), "1/saved_model.pb=one 3/saved_model.pb=three"; got != want {
		t.Errorf("a version that no model serves any more: got %s, expected %s", got, want)
	}
}

// damages answers with different bytes for an object.
func damages(key string) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, _ *http.Request, k string) bool {
		if k == key {
			_, _ = fmt.Fprint(w, "BBB")
		}
		return k == key
	}
}

// before calls do before each answer.
func before(do func()) func(http.ResponseWriter, *http.Request, string) bool {
	return func(http.ResponseWriter, *http.Request, string) bool {
		do()
		return false
	}
}

// An error in a version keeps all of it out, and is reported.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*s3server.Server, *Options)
		want   string
	}{
		"empty":     {func(w *s3server.Server, _ *Options) { w.Remove("iris/") }, "no folder named by a number, such as 1"},
		"too large": {func(_ *s3server.Server, o *Options) { o.MaxBytes = 5 }, "version 1: it has 6 bytes, expected at most 5: see --model-cache-max-bytes"},
		"damaged":   {func(w *s3server.Server, _ *Options) { w.Answer = damages("iris/1/b") }, "version 1: b: MD5 is "},
		"outside":   {func(w *s3server.Server, _ *Options) { w.Put("iris/1/../../x", "x") }, `object "iris/1/../../x": expected a name that is a file below iris/1/`},
		"backslash": {func(w *s3server.Server, _ *Options) { w.Put(`iris/1/a\b`, "x") }, "expected a name that is a file below iris/1/"},
		"changes":   {func(w *s3server.Server, _ *Options) { w.Answer = before(func() { w.Put("iris/1/a", "other") }) }, errChanged.Error()},
		"grows":     {func(w *s3server.Server, _ *Options) { w.Answer = before(func() { w.Put("iris/1/c", "more") }) }, errChanged.Error()},
		"unsigned":  {func(*s3server.Server, *Options) { os.Setenv("AWS_ACCESS_KEY_ID", "you") }, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			web := s3server.New(t, "models")
			web.Put("iris/1/a", "aaa")
			web.Put("iris/1/b", "bbb")
			o := Options{}
			c.change(web, &o)
			s := newStore(t, o)
			cfg, err := s.Fetch(t.Context(), one(iris))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "model m: s3://models/iris") {
				t.Errorf("got %v, %v, expected %s", cfg, err, c.want)
			}
			if got := files(t, s.dir); got != "" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// Exactly the limit is allowed. Base paths that are folders stay as they are.
func TestLimit(t *testing.T) {
	web := s3server.New(t, "models")
	web.Put("iris/1/a", "aaaaa")
	s := newStore(t, Options{MaxBytes: 5})
	cfg := one(iris)
	cfg.GetModelConfigList().Config = append(cfg.GetModelConfigList().Config, &config.ModelConfig{Name: "n", BasePath: "/models/n"})
	got, err := s.Fetch(t.Context(), cfg)
	if err != nil || got.GetModelConfigList().GetConfig()[1].GetBasePath() != "/models/n" || cfg.GetModelConfigList().GetConfig()[0].GetBasePath() != iris {
		t.Error(got, err)
	}
	if info, err := os.Stat(s.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of copies: %v, %v", info.Mode(), err)
	}
}

// A store that fails later changes nothing; the error is logged once.
func TestStoreFailsLater(t *testing.T) {
	web := s3server.New(t, "models")
	web.Put("iris/1/a", "a")
	s := newStore(t, Options{})
	cfg, err := s.Fetch(t.Context(), one(iris))
	if err != nil {
		t.Fatal(err)
	}
	web.Remove("iris/1/")
	web.Put("iris/2/../x", "x")
	if again, err := s.Fetch(t.Context(), cfg); err != nil || again.String() != cfg.String() {
		t.Error(again, err)
	}
	if got := files(t, cfg.GetModelConfigList().GetConfig()[0].GetBasePath()); got != "1/a=a" {
		t.Errorf("got %s", got)
	}
}

func TestCancelled(t *testing.T) {
	s := newStore(t, Options{Open: func(context.Context, string) (*blob.Bucket, error) { return fileblob.OpenBucket(t.TempDir(), nil) }})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Fetch(ctx, one("s3://models/iris")); err == nil {
		t.Error("a cancelled fetch succeeds")
	}
}

func Example() {
	p, err := Placed(one("s3://models/iris"))
	fmt.Println(p.GetModelConfigList().GetConfig()[0].GetBasePath(), err)
	_, err = Placed(one("ftp://models/iris"))
	fmt.Println(err)
	// Output:
	// /s3:%2F%2Fmodels%2Firis <nil>
	// rpc error: code = InvalidArgument desc = model m: base_path ftp://models/iris: got scheme ftp, expected s3, gs or azblob, or a path of this machine
}
