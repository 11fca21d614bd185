package objectstore

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/bucket"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// IsURL reports whether a base path is a URL; file base paths are folders.
func IsURL(base string) bool { return bucket.IsURL(base) }

// prefix is the common prefix of the names of a model's versions: "", or a path that ends with a slash.
func prefix(p bucket.Place) string {
	if p.Path == "" {
		return ""
	}
	return p.Path + "/"
}

// Placed returns the config with an absolute path in place of each URL, so that the rest of it can be checked. It returns an error, with
// a gRPC status, for URLs that cannot be served.
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
		if _, err := bucket.Parse(m.GetBasePath()); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "model %s: base_path %s: %v", m.GetName(), m.GetBasePath(), err)
		}
		m.BasePath = dir(m.GetBasePath())
	}
	return out, nil
}

// folder is the name of a URL's folder, different for each URL.
func folder(base string) string { return url.PathEscape(strings.TrimRight(base, "/")) }
