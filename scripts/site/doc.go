// Command site makes a website from the Markdown pages: the README, the pages in docs and the others named in nav.txt. It checks all relative
// links, anchors and images; a broken one is an error. The site needs no network and no server.
package main
