/** What went wrong, in words for the person. */
export class ToldError extends Error {
  override readonly name: string = 'ToldError';
}

/** A refusal of the call itself. Others, such as that a session is over, say nothing of the same call sent before. */
export const isJudgement = (status: number): boolean =>
  status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);

/** A refusal of the gateway, in its own words. */
export class ApiError extends ToldError {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface CallOptions {
  /** Makes the call a POST. */
  body?: object;
  method?: 'DELETE' | 'POST' | 'PUT';
  /** A call that is repeated with the same one is charged once. */
  callId?: string;
  signal?: AbortSignal;
}

export interface UploadOptions {
  onSent(bytes: number): void;
  signal: AbortSignal;
}

export interface Api {
  /** Calls an address below /console, such as `v1/balance`, and reads JSON. Throws ApiError. */
  read<Answer>(path: string, options?: CallOptions): Promise<Answer>;
  /** As `read`, without reading the answer. */
  open(path: string, options?: CallOptions): Promise<Response>;
  /** Sends a file as it is, and reads JSON. Throws ToldError, also where the signal stops it. */
  upload<Answer>(path: string, file: File, options: UploadOptions): Promise<Answer>;
}

/** A call that answers nothing for so long is given up. */
export const longestMs = 180_000;

/** A file that takes longer to arrive and to be answered is given up. */
const longestUploadMs = 600_000;

interface Refusal {
  error?: string | { message?: string };
  /** What is wrong in the fields of the call, where a refusal lists it. Those of proxies may have a text here. */
  detail?: string | { loc: (string | number)[]; msg: string }[];
}

export const messageOf = async (answer: Response): Promise<string> => {
  const { error, detail } = ((await answer.json().catch(() => null)) ?? {}) as Refusal;
  return (
    (typeof error === 'string' ? error : error?.message) ??
    (Array.isArray(detail)
      ? detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ')
      : `The gateway answered ${answer.status}. Try again.`)
  );
};

/** `onEnded` is called when the session that made a call has ended. */
export const createApi = ({ base, brand }: { base: string; brand: string }, onEnded: () => void): Api => {
  const open: Api['open'] = async (path, { body, method, callId, signal } = {}) => {
    // It ends with the headers: a stream may take longer.
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new DOMException('no answer', 'TimeoutError')), longestMs);
    const answer = await fetch(`${base}/console/${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        [`x-${brand}-console`]: '1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(callId === undefined ? {} : { 'idempotency-key': callId }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
    }).finally(() => clearTimeout(timer));
    if (answer.ok) return answer;
    const refusal = new ApiError(answer.status, await messageOf(answer));
    if (refusal.status === 401) onEnded();
    throw refusal;
  };
  const read = async <Answer>(path: string, options: CallOptions = {}): Promise<Answer> => {
    const limit = AbortSignal.timeout(longestMs);
    const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]);
    return (await (await open(path, { ...options, signal })).json()) as Answer;
  };
  const upload: Api['upload'] = async <Answer>(path: string, file: File, options: UploadOptions) => {
    const answer = await sendFile(`${base}/console/${path}`, file, options);
    if (answer.status === 401) onEnded();
    if (!answer.ok) throw new ApiError(answer.status, await messageOf(answer));
    return (await answer.json()) as Answer;
  };
  return { open, read, upload };
};

/** Only XMLHttpRequest tells how much of a file has gone. */
const sendFile = (address: string, file: File, { onSent, signal }: UploadOptions): Promise<Response> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let sent = 0;
    const fail = (what: string) => (): void =>
      reject(
        new ToldError(
          sent < file.size
            ? `${what}. Nothing was changed.`
            : 'The file has arrived, but its answer has not. Send the same file again: that changes nothing twice.',
        ),
      );
    request.upload.addEventListener('progress', ({ loaded }) => onSent((sent = loaded)));
    request.addEventListener('load', () =>
      resolve(new Response(request.responseText, { status: request.status })),
    );
    request.addEventListener('error', fail('The upload broke off'));
    request.addEventListener('timeout', fail('The upload took too long'));
    request.addEventListener('abort', fail('You stopped the upload'));
    signal.addEventListener('abort', () => request.abort());
    request.open('POST', address);
    // The browser would name a type by the end of the file's name, such as that of a spreadsheet.
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.timeout = longestUploadMs;
    request.send(file);
  });

/** Writes a query of the fields that have a value; empty if none has. */
export const toQuery = (fields: Readonly<Record<string, string | number | null | undefined>>): string => {
  const given = Object.entries(fields).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === '' ? '' : `?${query}`;
};

/** Says what went wrong, for the person. */
export const messageFor = (error: unknown): string => {
  if (error instanceof ToldError) return error.message;
  return error instanceof DOMException && error.name === 'TimeoutError'
    ? 'The gateway did not answer in time. Try again.'
    : 'The gateway cannot be reached. Check the connection, and try again.';
};
