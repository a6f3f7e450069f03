import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, methodNotAllowed } from '../../kit/errors.ts';
import { writeJson } from '../../kit/write-answer.ts';
import type { AddressLimiter } from '../../limits/address-limiter.ts';
import { askedTransfer } from '../../payments/sale/prepare-transfer.ts';
import type { X402Gate } from '../../payments/sale/gate.ts';
import { createConsoleFiles, type ConsoleFilesOptions } from '../console/console-files.ts';
import { readJsonBody } from '../read-json-body.ts';
import type { RequestContext } from '../rest-routes.ts';

export interface PayMountOptions extends ConsoleFilesOptions {
  x402: Pick<X402Gate, 'status' | 'prepareTransfer'>;
  preparedTransfers: AddressLimiter;
}

const maxBytes = 4_096;
const transferPath = '/pay/transfer';

/** Serves the page on which a wallet of the browser pays, and the transfers that it has wallets of Solana sign. Throws AppError. */
export const createPayMount = (options: PayMountOptions) => {
  const serveFiles = createConsoleFiles('pay', options);
  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { url, clientAddress }: Pick<RequestContext, 'url' | 'clientAddress'>,
  ): Promise<void> => {
    if (url.pathname !== transferPath)
      return serveFiles(request, response, url.pathname.slice('/pay'.length));
    if (request.method !== 'POST') throw methodNotAllowed('POST');
    await options.preparedTransfers.consume(clientAddress);
    const { value } = await readJsonBody(request, { maxBytes, reserve: () => Promise.resolve() });
    const asked = askedTransfer.safeParse(value);
    const [issue] = asked.error?.issues ?? [];
    if (asked.data === undefined) {
      const param = issue?.path.join('.') ?? '';
      throw new AppError('invalid_parameter', `${param || 'body'}: ${issue?.message ?? 'is wrong'}`, {
        param,
      });
    }
    const transaction = await options.x402.prepareTransfer(asked.data);
    writeJson(response, { status: 200, headers: { 'cache-control': 'no-store' }, body: { transaction } });
  };
};
