import type { Readable } from 'node:stream';

export type OutboundFailure =
  /** Not https, has credentials, or is malformed. */
  | 'bad_url'
  /** The URL itself names this machine, which only a gateway for development may reach. */
  | 'loopback'
  /** A host that resolves to an address that is not public. */
  | 'not_public'
  | 'unresolved'
  | 'unreachable'
  /** The certificate is not of that host, not signed by a known authority, or out of its time. */
  | 'bad_certificate'
  | 'timeout'
  | 'too_many_redirects'
  /** An answer other than 2xx. */
  | 'bad_status'
  /** Compressed, although that was not accepted. */
  | 'encoded'
  | 'too_large'
  /** The connection ended early, or the answer was not HTTP. */
  | 'broken_off'
  /** Too many calls of this process, or of the account, wait already, or for too long, or it is ending; nothing was sent. */
  | 'busy';

export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;
  /** Of a `timeout`: the time of the whole answer was over, however much of it had come. */
  readonly isCut: boolean;
  /** Of a `bad_status`. */
  readonly status: number | undefined;

  constructor(
    failure: OutboundFailure,
    message: string,
    options: { cause?: unknown; isCut?: boolean; status?: number } = {},
  ) {
    super(message, options);
    this.failure = failure;
    this.isCut = options.isCut === true;
    this.status = options.status;
  }
}

const unsentFailures: ReadonlySet<OutboundFailure> = new Set([
  'bad_url',
  'loopback',
  'not_public',
  'unresolved',
  'unreachable',
  'bad_certificate',
  'busy',
]);

/** Tells whether an error says that nothing of the request was sent. */
export const isUnsent = (error: unknown): error is OutboundError =>
  error instanceof OutboundError && unsentFailures.has(error.failure);

/** No further download would end in another way. */
export const lastingFailures: ReadonlySet<OutboundFailure> = new Set([
  'bad_url',
  'loopback',
  'not_public',
  'too_large',
]);

const certificateCode = /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|DEPTH_ZERO_|HOSTNAME_MISMATCH)|SELF_SIGNED/;

/** Says why a connection did not come about: nothing of the request was sent. */
export const toConnectFailure = (cause: unknown): OutboundError => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return certificateCode.test(code)
    ? new OutboundError('bad_certificate', 'The certificate of the host is not to be trusted.', { cause })
    : new OutboundError('unreachable', 'The host does not accept a connection.', { cause });
};

export interface DownloadOptions {
  maxBytes: number;
  /** From the first step to the last byte; a wait for a place comes before it. */
  totalMs: number;
  /** How long the host may send nothing. The time that the reader takes does not count. */
  idleMs?: number;
  signal: AbortSignal;
  /** `results`: made by an upstream, with slots of its own. Default: `inputs`. */
  lane?: 'inputs' | 'results';
  /** The most redirects. Default: three. */
  redirects?: number;
  /** The account that the call is for, if that is known. No account gets more than a share of the places. */
  accountId?: string | undefined;
}

/** HTTP to addresses that users name: only public https, checked at each connection. Throws OutboundError. */
export interface Outbound {
  /** A GET. The body is streamed, and throws OutboundError when it grows beyond `maxBytes`. */
  download(url: string, options: DownloadOptions): Promise<{ contentType: string | null; body: Readable }>;
  /**
   * A POST without redirects; the answer's body is not read. Any status is an answer. `retryAfter` is the header of that name.
   * `isOwn`: the operator named the address, which may be anywhere.
   */
  post(
    url: string,
    options: {
      body: string;
      headers: Record<string, string>;
      totalMs: number;
      isOwn?: boolean | undefined;
      signal: AbortSignal;
    },
  ): Promise<{ status: number; retryAfter: string | undefined }>;
  close(): Promise<void>;
}
