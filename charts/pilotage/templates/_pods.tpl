{{/* How many replicas the scheduler has. Without leader election there can be one, and the values may not say how many. */}}
{{- define "pilotage.scheduler.replicas" -}}
{{- $count := .Values.scheduler.replicaCount -}}
{{- if kindIs "invalid" $count -}}
{{- .Values.scheduler.leaderElect | ternary 2 1 -}}
{{- else -}}
{{- if and (gt (int $count) 1) (not .Values.scheduler.leaderElect) -}}
{{- fail (printf "\nscheduler.replicaCount is %d and scheduler.leaderElect is false: all replicas would schedule the same pods.\nSet scheduler.leaderElect=true, or scheduler.replicaCount=1." (int $count)) -}}
{{- end -}}
{{- int $count -}}
{{- end -}}
{{- end -}}

{{/* What pods of both components have in common. */}}
{{- define "pilotage.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
{{- with default .fallback.nodeSelector .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default .fallback.affinity .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default .fallback.tolerations .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What containers of both components have in common, up to their arguments. */}}
{{- define "pilotage.container" -}}
name: {{ .component }}
image: {{ include "pilotage.image" (dict "root" .root "component" .component "image" .values.image) | quote }}
imagePullPolicy: {{ include "pilotage.pullPolicy" (dict "root" .root "image" .values.image) }}
{{- with .root.Values.containerSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Who a pod is, and what the values add to its environment; a variable that they name again is theirs. */}}
{{- define "pilotage.env" -}}
{{- $given := list -}}
{{- range .extra }}{{ $given = append $given .name }}{{ end -}}
{{- range $name, $field := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" }}
{{- if not (has $name $given) }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $field }}
{{- end }}
{{- end }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The image's entry point is not that of scheduler-plugins' image, whose values name it. */}}
{{- define "pilotage.scheduler.command" -}}
{{- if not (deepEqual .Values.scheduler.command (list "/bin/kube-scheduler")) -}}
{{- with .Values.scheduler.command }}
{{- toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}
