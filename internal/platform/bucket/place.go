package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"
)

// parameters are the parameters that a URL of a scheme may have after its "?". None names a host: the operator sets endpoints and
// credentials in the environment, so that a caller who chooses a URL cannot choose them.
var parameters = map[string][]string{
	"s3":     {"region", "use_path_style"},
	"gs":     {},
	"azblob": {},
}

// Place is a place in a bucket.
type Place struct {
	Bucket string // its URL, without a path
	Path   string // of an object or a folder, without slashes at either end; "": the bucket itself
}

// IsURL reports whether a name is a URL of something other than a local file.
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && scheme != "file"
}

// Local is the name of a local file, which may be given as file:///PATH. Other names are returned unchanged.
func Local(name string) (string, error) {
	if !strings.HasPrefix(name, "file://") {
		return name, nil
	}
	u, err := url.Parse(name)
	if err == nil && (u.Host != "" && u.Host != "localhost" || u.Path == "" || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("expected file:///PATH")
	}
	if err != nil {
		return "", err
	}
	return filepath.FromSlash(u.Path), nil
}

// Parse reads the URL of an object or a folder in S3, Google Cloud Storage or Azure Blob Storage.
func Parse(name string) (Place, error) { return parse(name, parameters) }

// ParseAny is Parse that also accepts the other schemes for which the program has a driver, without parameters.
func ParseAny(name string) (Place, error) {
	scheme, _, _ := strings.Cut(name, "://")
	if _, known := parameters[scheme]; !known && blob.DefaultURLMux().ValidBucketScheme(scheme) {
		return parse(name, map[string][]string{scheme: nil})
	}
	return Parse(name)
}

func parse(name string, parameters map[string][]string) (p Place, err error) {
	u, err := url.Parse(name)
	if err != nil {
		return p, err
	}
	allowed, ok := parameters[u.Scheme]
	switch {
	case !ok:
		return p, fmt.Errorf("got scheme %s, expected s3, gs or azblob, or a path of this machine", u.Scheme)
	case u.Host == "" || u.User != nil || u.Port() != "" || u.Fragment != "":
		return p, fmt.Errorf("expected %s://BUCKET/PATH", u.Scheme)
	}
	for key := range u.Query() {
		if !slices.Contains(allowed, key) {
			return p, fmt.Errorf("parameter %s: expected one of %q: endpoints and credentials are set by the environment", key, allowed)
		}
	}
	if p.Path = strings.Trim(u.Path, "/"); p.Path != "" && (p.Path != path.Clean(p.Path) || strings.HasPrefix(p.Path, "..")) {
		return p, fmt.Errorf("path %s: expected one without . and .. and with single slashes", u.Path)
	}
	p.Bucket = (&url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}).String()
	return p, nil
}

// Object is the URL of an object in the place's bucket.
func (p Place) Object(key string) string {
	base, query, parameters := strings.Cut(p.Bucket, "?")
	name := base + (&url.URL{Path: "/" + key}).EscapedPath()
	if parameters {
		name += "?" + query
	}
	return name
}
