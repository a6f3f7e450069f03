import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { walletOf } from '../../payments/records/wallet-account.ts';
import type { Payment } from '../../store/store.ts';
import { imageJobId } from '../images/image-examples.ts';
import type { Services } from '../call.ts';
import type { Operation } from '../definition.ts';
import { filterAnswer, offerOf } from '../sale-rules.ts';
import { opaque } from '../schema-marks.ts';
import { boughtPaymentFields, descriptionOf, toBoughtPayment } from './bought-payment.ts';
import { historyOperation } from './history-page.ts';

const item = z.looseObject({
  ...boughtPaymentFields,
  operation: z.string().nullable().describe('What was called. Null: it is not sold any more.'),
  result: opaque(z.looseObject({}).nullable()).describe(
    'The answer that was bought, for a day after its delivery. Null: it is not kept any more, or is read with job_id.',
  ),
});

/** A purchase with what it bought. */
interface Purchase extends Payment {
  id: string;
  operation: string | null;
  answer: JsonObject | null;
}

/** Makes the list of what a wallet or an account bought by payments. `sold`: the operations that are sold here. */
export const createListPurchases = (sold: readonly Operation[]) =>
  historyOperation<Purchase>({
    name: 'list_purchases',
    title: 'List purchases',
    description:
      'What was bought by payments of the wallet of this account, and what raised its balance, newest first, with the ' +
      'answers as long as they are kept. Free.',
    path: '/v1/purchases',
    tool: null,
    item,
    answer: 'PurchasePage',
    example: { summary: 'An image that a wallet paid for', limit: 20, data: [example] },
    read: async ({ before, ...page }, { signal }, services: Services) => {
      const account = await services.store.getAccount(page.accountId);
      const payments = await services.store.listPurchases({
        ...page,
        before,
        wallet: account && walletOf(account),
      });
      return Promise.all(
        payments.map(async (payment) => ({
          ...payment,
          ...(await readAnswer(payment, { sold, services, signal })),
          id: payment.identity,
        })),
      );
    },
    toItem: ({ operation, answer, ...payment }, services) => ({
      ...toBoughtPayment(payment, services),
      operation,
      result: answer,
    }),
  });

/** Reads the stored answer, filtered as every repeated answer. Null for an unknown operation. */
const readAnswer = async (
  payment: Payment,
  { sold, services, signal }: { sold: readonly Operation[]; services: Services; signal: AbortSignal },
): Promise<Pick<Purchase, 'operation' | 'answer'>> => {
  const description = descriptionOf(payment);
  const found = sold.find(({ sale }) => {
    const offer = offerOf(sale);
    return [offer?.description, offer?.sandbox.description].includes(description);
  });
  const operation = found?.name ?? null;
  const { state, isRefunded, jobId } = payment;
  const isGiven = (state === 'settled' || state === 'delivered') && !isRefunded && jobId === null;
  const result: unknown = isGiven && payment.result !== null ? JSON.parse(payment.result) : null;
  if (found === undefined || !isJsonObject(result) || Object.keys(result).length === 0)
    return { operation, answer: null };
  const offer = offerOf(found.sale);
  const answer = offer === null ? result : await filterAnswer(offer, result, { services, signal });
  return { operation, answer };
};

const example: JsonObject = {
  id: 'eip155:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913:0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc:0x5f3c9a1e',
  description: 'Image generation',
  status: 'paid',
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  amount: '0.04',
  amount_units: '40000',
  payer: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  pay_to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  transaction: '0x0d2e77',
  credit_usd: '0.04',
  job_id: imageJobId,
  created_at: '2026-11-20T09:29:59.000Z',
  settled_at: '2026-11-20T09:30:00.000Z',
  operation: 'create_image',
  result: null,
};
