import { OutboundError } from './outbound.ts';

const certificateCode = /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|DEPTH_ZERO_|HOSTNAME_MISMATCH)|SELF_SIGNED/;

/** Says why a connection did not come about: nothing of the request was sent. */
export const toConnectFailure = (cause: Error): OutboundError => {
  const code = 'code' in cause ? String(cause.code) : '';
  return certificateCode.test(code)
    ? new OutboundError('bad_certificate', 'The certificate of the host is not to be trusted.', { cause })
    : new OutboundError('unreachable', 'The host does not accept a connection.', { cause });
};
