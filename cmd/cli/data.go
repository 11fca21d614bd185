package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/datasets"
	"github.com/spf13/cobra"
)

func (a *app) dataCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "describe tables, download public data sets",
		Example: `  goestimator data describe houses.csv --label price
  goestimator data download fashion_mnist --dir data/fashion-mnist`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.describeCommand("describe"), a.dataDownloadCommand())
	return cmd
}

func (a *app) dataDownloadCommand() *cobra.Command {
	var dir string
	var mirrors []string
	cmd := &cobra.Command{
		Use:   "download {" + strings.Join(datasets.Names(), "|") + "} --dir DIR",
		Short: "download a data set and check it",
		Long: `Downloads a data set as its authors publish it, in the form that the config files
read. Each file is checked against a published SHA-256 before it gets its name;
files that are there and whole stay. A download that broke off goes on where it
ended when the command is run again. Servers are tried in turn, --mirror's
first. The licence is printed: read it before you use the data.

` + dataSetsHelp(),
		Example: `  goestimator data download fashion_mnist --dir data/fashion-mnist
  goestimator data download mnist --dir data/mnist --mirror https://files.example.com/mnist/`,
		ValidArgs: datasets.Names(),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage(fmt.Errorf("no data set: expected one of %s", strings.Join(datasets.Names(), ", ")))
			case len(args) > 1:
				return usage(fmt.Errorf("unexpected argument %q", args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := datasets.Find(args[0])
			if err != nil {
				return usage(err)
			}
			if dir == "" {
				return usage(errors.New("--dir is not set: expected the folder for the files"))
			}
			if err := set.Mirror(mirrors); err != nil {
				return usage(fmt.Errorf("--mirror: %w", err))
			}
			fmt.Fprintf(a.stdout, "%s\nlicence: %s\ncite: %s\nchecksums: %s\n", set.Title, set.Licence, set.Cite, set.Sums)
			return a.download(cmd, set, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the files; it is made where it is not there")
	cmd.Flags().StringSliceVar(&mirrors, "mirror", nil, "folders of HTTP servers that have the files, tried before the known ones")
	completeFolders(cmd, "dir")
	return cmd
}

// dataSetsHelp lists the data sets.
func dataSetsHelp() string {
	var b strings.Builder
	for _, d := range datasets.Catalog() {
		fmt.Fprintf(&b, "  %-14s %s\n", d.Name, d.Title)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) download(cmd *cobra.Command, set datasets.Dataset, dir string) error {
	d := datasets.Downloader{Client: http.DefaultClient, Report: func(f datasets.File, url string, from int64) {
		a.log.Info("downloading", "file", f.Name, "from", url, "bytes", f.Size, "have", from)
	}}
	done, err := d.Download(cmd.Context(), set, dir)
	for _, x := range done {
		what := "is there"
		if x.URL != "" {
			what = "from " + x.URL
		}
		fmt.Fprintf(a.stdout, "%s: checksum ok, %s\n", x.File, what)
	}
	if err != nil {
		return fmt.Errorf("data set %s: %w", set.Name, err)
	}
	return nil
}
