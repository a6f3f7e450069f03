import { brandTitle } from '../kit/text.ts';
import { errorTable } from '../kit/errors.ts';
import { envelopeOf } from '../operations/answer-fields.ts';
import { assembleOpenApi } from '../rest/openapi/assemble-openapi.ts';
import { accountView } from './accounts.ts';
import { jobView } from './jobs.ts';
import { keySchema } from './keys.ts';
import { entryView } from './money.ts';
import { tags, verbs } from './verbs.ts';
import { paymentView, refundView } from './payments/payment-view.ts';
import { webhookView } from './webhooks.ts';

export const createOperatorOpenApi = ({ brand, publicUrl }: { brand: string; publicUrl: string }): object => {
  const title = brandTitle({ brand });
  return assembleOpenApi({
    operations: verbs,
    publicUrl,
    brand: title,
    namedSchemas: [
      [envelopeOf(errorTable), 'ErrorEnvelope'],
      [accountView.schema, 'Account'],
      [entryView.schema, 'LedgerEntry'],
      [keySchema, 'Key'],
      [jobView.schema, 'Job'],
      [paymentView.schema, 'Payment'],
      [refundView.schema, 'PaymentRefund'],
      [webhookView.schema, 'Webhook'],
    ],
    info: {
      title: `${title}: the operator's API`,
      version: '1',
      summary: 'Accounts, money, keys and payments, for the people who run the gateway.',
      description: introduction,
    },
    tags,
    keyDescription: 'An operator key, `op_…`, made by `causeway operator-keys issue`.',
  });
};

const introduction = `The same operations as on the command line. A key has the role \`read\` or \`write\`.

- Amounts are decimal strings in USD, timestamps ISO 8601, ids UUIDs.
- Unknown fields are refused, so that a slip changes nothing.
- Every change of a balance needs an \`entry_id\` of your own. Repeat a call with the same one: it posts once.
- Every call that changes something is a row of the audit log, and so is a refused one, up to a number in an hour.`;
