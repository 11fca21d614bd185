package objectstore

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// parameters are what a URL of a scheme may say behind its "?". None names a host: endpoints and credentials are the operator's, by the
// environment, so that a caller who may reload cannot choose them.
var parameters = map[string][]string{
	"s3":     {"region", "use_path_style"},
	"gs":     {},
	"azblob": {},
}

// place is where a model lies: a bucket and the prefix of its versions in it, "" or with a slash at its end.
type place struct{ bucket, prefix string }

// IsURL reports whether a base path is a URL; those of files are folders.
func IsURL(base string) bool {
	scheme, _, ok := strings.Cut(base, "://")
	return ok && scheme != "file"
}

// parse reads the URL of a model.
func parse(base string) (p place, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return p, err
	}
	allowed, ok := parameters[u.Scheme]
	switch {
	case !ok:
		return p, fmt.Errorf("got scheme %s, expected s3, gs or azblob, or a folder of this machine", u.Scheme)
	case u.Host == "" || u.User != nil || u.Port() != "" || u.Fragment != "":
		return p, fmt.Errorf("expected %s://BUCKET/PATH", u.Scheme)
	}
	for key := range u.Query() {
		if !slices.Contains(allowed, key) {
			return p, fmt.Errorf("parameter %s: expected one of %q: endpoints and credentials are set by the environment", key, allowed)
		}
	}
	if p.prefix = strings.Trim(u.Path, "/"); p.prefix != "" {
		if p.prefix != path.Clean(p.prefix) || strings.HasPrefix(p.prefix, "..") {
			return p, fmt.Errorf("path %s: expected one without . and .. and with single slashes", u.Path)
		}
		p.prefix += "/"
	}
	p.bucket = (&url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}).String()
	return p, nil
}

// Placed returns the config with an absolute path in place of each URL, for checks of everything else. It fails, with a gRPC status, for
// URLs that cannot be served.
func Placed(cfg *config.ModelServerConfig) (*config.ModelServerConfig, error) {
	return localized(cfg, func(base string) string { return filepath.Join(string(filepath.Separator), folder(base)) })
}

// localized replaces base paths that are URLs by folders.
func localized(cfg *config.ModelServerConfig, dir func(base string) string) (*config.ModelServerConfig, error) {
	out := proto.CloneOf(cfg)
	for _, m := range out.GetModelConfigList().GetConfig() {
		if !IsURL(m.GetBasePath()) {
			continue
		}
		if _, err := parse(m.GetBasePath()); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "model %s: base_path %s: %v", m.GetName(), m.GetBasePath(), err)
		}
		m.BasePath = dir(m.GetBasePath())
	}
	return out, nil
}

// folder is the name of a URL's folder, in which no two have the same.
func folder(base string) string { return url.PathEscape(strings.TrimRight(base, "/")) }
