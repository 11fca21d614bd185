package datasets

import (
	_ "embed"
	"fmt"
	"net/url"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/spelling"
	"go.yaml.in/yaml/v3"
)

// Dataset is a public data set.
type Dataset struct {
	Name    string
	Title   string
	Licence string // what its authors allow, or that they do not say
	Cite    string
	Sums    string   // where the checksums were published
	Folders []string // of HTTP servers that have the files, tried in turn
	Files   []File
}

// File is a file of a data set as it is published.
type File struct {
	Name    string
	Size    int64
	SHA256  string
	URLs    []string // tried in turn; the catalog's files are in the data set's Folders
	Members []Member // files to unpack from a tar.gz; nil: keep the file as it is
}

// Member is a file of an archive.
type Member struct {
	Name   string
	Size   int64
	SHA256 string
}

//go:embed catalog.yaml
var catalog []byte

// Catalog lists the data sets.
func Catalog() []Dataset {
	var sets []Dataset
	if err := yaml.Unmarshal(catalog, &sets); err != nil {
		panic(fmt.Sprintf("datasets: catalog.yaml: %v", err)) // tests read the catalog
	}
	for i := range sets {
		for j := range sets[i].Files {
			f := &sets[i].Files[j]
			for _, folder := range sets[i].Folders {
				f.URLs = append(f.URLs, folder+f.Name)
			}
		}
	}
	return sets
}

// Mirror makes folders of HTTP servers the first places to look for each file.
func (d *Dataset) Mirror(folders []string) error {
	for i := range d.Files {
		f := &d.Files[i]
		var urls []string
		for _, folder := range folders {
			u, err := url.Parse(folder)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(folder, "?#") {
				return fmt.Errorf("got %q, expected http://HOST/FOLDER or https://HOST/FOLDER", folder)
			}
			urls = append(urls, strings.TrimSuffix(folder, "/")+"/"+f.Name)
		}
		f.URLs = append(urls, f.URLs...)
	}
	return nil
}

// Names lists the names of the data sets.
func Names() []string {
	var names []string
	for _, d := range Catalog() {
		names = append(names, d.Name)
	}
	return names
}

// Find returns a data set by its name.
func Find(name string) (Dataset, error) {
	for _, d := range Catalog() {
		if d.Name == name {
			return d, nil
		}
	}
	if near := spelling.Nearest(name, Names()); near != "" {
		return Dataset{}, fmt.Errorf("unknown data set %q; did you mean %s?", name, near)
	}
	return Dataset{}, fmt.Errorf("unknown data set %q: expected one of %s", name, strings.Join(Names(), ", "))
}
