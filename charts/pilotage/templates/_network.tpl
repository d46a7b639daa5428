{{/* The peers that may reach a port of a pod, and its egress. Probes come from the node, which no policy blocks. */}}
{{- define "pilotage.traffic" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- $from := include "pilotage.visitors" .root | fromYamlArray -}}
{{- if $policy.egress -}}
policyTypes: [Ingress, Egress]
{{- else -}}
# Without egress: a rule that allows everything would override other policies of the namespace.
policyTypes: [Ingress]
{{- end }}
{{- $api := and .api .root.Values.api.enabled .root.Values.api.from }}
{{- if or $from $api }}
ingress:
{{- if $from }}
- ports:
  - {port: {{ .port }}, protocol: TCP}
  from:
    {{- toYaml $from | nindent 4 }}
{{- end }}
{{- if $api }}
- ports:
  - {port: {{ .api }}, protocol: TCP}
  from:
    {{- toYaml .root.Values.api.from | nindent 4 }}
{{- end }}
{{- else }}
ingress: []
{{- end }}
{{- with $policy.egress }}
egress:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The peers that may read the metrics by the values, for a NetworkPolicy. */}}
{{- define "pilotage.visitors" -}}
{{- $peers := list -}}
{{- range .Values.monitoring.readers }}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" .namespace))) }}
{{- end -}}
{{- concat $peers .Values.networkPolicy.from | uniq | toYaml -}}
{{- end -}}
