import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { walletOf } from '../../payments/records/wallet-account.ts';
import type { Payment } from '../../store/store.ts';
import type { Services } from '../call.ts';
import type { Operation } from '../definition.ts';
import { filterAnswer, offerOf } from '../sale-rules.ts';
import { opaque } from '../schema-marks.ts';
import { defineView, extensible } from '../view.ts';
import { boughtPaymentView, descriptionOf } from './bought-payment.ts';
import { historyOperation } from './history-page.ts';

/** A purchase with what it bought. */
interface Purchase extends Payment {
  id: string;
  operation: string | null;
  answer: JsonObject | null;
}

const purchaseView = defineView<Purchase, Services>({
  operation: 'What was called. Null: it is not sold any more.',
  result:
    'The answer that was bought, for a day after its delivery. Null: it is not kept any more, or is read with job_id.',
})({
  ...boughtPaymentView.members,
  operation: [z.string().nullable(), 'operation', 'create_image'],
  result: [opaque(z.looseObject({}).nullable()), 'answer', null],
});

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
    view: extensible(purchaseView),
    answer: 'PurchasePage',
    example: { summary: 'An image that a wallet paid for', limit: 20 },
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
  const { state, isRefunded, jobId, credit } = payment;
  // The job of a payment that raised no balance may be of another account.
  const isKept = jobId === null || credit === null;
  const isGiven = (state === 'settled' || state === 'delivered') && !isRefunded && isKept;
  const result: unknown = isGiven && payment.result !== null ? JSON.parse(payment.result) : null;
  if (found === undefined || !isJsonObject(result) || Object.keys(result).length === 0)
    return { operation, answer: null };
  const offer = offerOf(found.sale);
  const answer = offer === null ? result : await filterAnswer(offer, result, { services, signal });
  return { operation, answer };
};
