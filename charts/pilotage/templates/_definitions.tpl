{{/* Non-empty if the release installs a CRD: it is enabled, and not installed otherwise. A CRD of another release stays with that
     release unless adopted; a CRD of another project is used unchanged. Without a cluster (helm template) there are none. */}}
{{- define "pilotage.bringsDefinition" -}}
{{- $name := .definition.metadata.name -}}
{{- $switch := get (include "pilotage.definitionSwitches" .root | fromYaml) .definition.spec.names.plural -}}
{{- $present := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- $owner := dig "metadata" "annotations" dict $present -}}
{{- $isOwn := and (eq (get $owner "meta.helm.sh/release-name") .root.Release.Name) (eq (get $owner "meta.helm.sh/release-namespace") .root.Release.Namespace) -}}
{{- $isPilotage := or (hasSuffix ".pilotage.dev" $name) (eq (dig "metadata" "labels" "app.kubernetes.io/part-of" "" $present) "pilotage") -}}
{{- if and $switch (or (not $present) $isOwn (and .root.Values.crds.adopt $isPilotage)) -}}
yes
{{- end -}}
{{- end -}}

{{/* The enabled CRDs, by the names of their resources. */}}
{{- define "pilotage.definitionSwitches" -}}
schedulerprofiles: true
podgroups: {{ .Values.crds.podGroups }}
elasticquotas: {{ .Values.crds.elasticQuotas }}
noderesourcetopologies: {{ .Values.crds.nodeResourceTopologies }}
appgroups: {{ .Values.crds.appGroups }}
networktopologies: {{ .Values.crds.networkTopologies }}
stickyjobs: {{ .Values.crds.stickyJobs }}
{{- end -}}
