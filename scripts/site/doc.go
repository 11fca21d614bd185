// Command site makes a site of the Markdown pages: the README, those of docs and the others that nav.txt names. It checks all relative links,
// their anchors and images; one that leads nowhere is an error. The site needs no network and no server.
package main
