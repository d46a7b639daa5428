// CoreDNS with only the plugins that a test cluster's Corefile names: a fifth of the full build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

func main() {
	// The order in which plugins handle a query; the full list lives in CoreDNS's own plugin.cfg.
	dnsserver.Directives = []string{"reload", "health", "ready", "errors", "log", "cache", "loadbalance", "kubernetes"}
	coremain.Run()
}
