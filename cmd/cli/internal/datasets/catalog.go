package datasets

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/spelling"
)

// Dataset is a public data set.
type Dataset struct {
	Name    string
	Title   string
	Licence string // what its authors allow, or that they do not say
	Cite    string
	Sums    string // where the checksums were published
	Files   []File
}

// File is a file of a data set as it is published.
type File struct {
	Name    string
	Size    int64
	SHA256  string
	URLs    []string // tried in turn
	Members []Member // of a tar.gz that is unpacked; nil: the file is kept as it is
}

// Member is a file of an archive.
type Member struct {
	Name   string
	Size   int64
	SHA256 string
}

// The checksums are those of the lists url_checksums/*.txt of tensorflow/datasets, commits 333639b37af6 (fashion_mnist,
// cifar10) and 31f1255e57e5 (mnist); those of CIFAR-10's members are in torchvision-ruby's cifar10.rb.
const sums = "tensorflow/datasets, url_checksums/%s.txt"

// Catalog lists the data sets.
func Catalog() []Dataset {
	return []Dataset{
		{
			Name: "fashion_mnist", Title: "Fashion-MNIST, 70,000 grey images of 28x28 in ten classes",
			Licence: "MIT, Copyright (c) 2017 Zalando SE", Cite: "Xiao, Rasul, Vollgraf, arXiv:1708.07747", Sums: fmt.Sprintf(sums, "fashion_mnist"),
			Files: idx([]string{
				"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
				"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion/",
				"https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
			}, [4]Member{
				{"", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
				{"", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
				{"", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
				{"", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
			}),
		},
		{
			Name: "mnist", Title: "MNIST, 70,000 grey images of 28x28 of handwritten digits",
			Licence: "Creative Commons BY-SA 3.0 as Keras states it, Copyright Yann LeCun and Corinna Cortes; the authors' page names none",
			Cite:    "LeCun, Bottou, Bengio, Haffner, Proceedings of the IEEE 86(11), 1998", Sums: fmt.Sprintf(sums, "mnist"),
			Files: idx([]string{
				"https://storage.googleapis.com/cvdf-datasets/mnist/",
				"https://ossci-datasets.s3.amazonaws.com/mnist/",
			}, [4]Member{
				{"", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
				{"", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
				{"", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
				{"", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
			}),
		},
		{
			Name: "cifar10", Title: "CIFAR-10, 60,000 colour images of 32x32 in ten classes, binary version",
			Licence: "none: the authors state no licence and only ask to be cited, so whether you may use or pass on the images is yours to find out",
			Cite:    "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009", Sums: fmt.Sprintf(sums, "cifar10"),
			Files: []File{{
				Name: "cifar-10-binary.tar.gz", Size: 170052171, SHA256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
				URLs: []string{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
				Members: []Member{
					{"data_batch_1.bin", 30730000, "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
					{"data_batch_2.bin", 30730000, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
					{"data_batch_3.bin", 30730000, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
					{"data_batch_4.bin", 30730000, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
					{"data_batch_5.bin", 30730000, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
					{"test_batch.bin", 30730000, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
				},
			}},
		},
	}
}

// idx are the four files of a data set of MNIST's form: images and labels for training, then for tests.
func idx(folders []string, parts [4]Member) []File {
	var files []File
	for i, name := range []string{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"} {
		f := File{Name: name, Size: parts[i].Size, SHA256: parts[i].SHA256}
		for _, folder := range folders {
			f.URLs = append(f.URLs, folder+name)
		}
		files = append(files, f)
	}
	return files
}

// Mirror makes folders of HTTP servers the first that each file is looked for in.
func (d *Dataset) Mirror(folders []string) error {
	for i := range d.Files {
		f := &d.Files[i]
		var urls []string
		for _, folder := range folders {
			if u, err := url.Parse(folder); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
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
