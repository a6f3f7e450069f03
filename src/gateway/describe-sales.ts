import { isOnSale, noticeOf, offerOf, rulesOf } from '../operations/sale-rules.ts';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import { soldExample } from '../operations/per-call-sale.ts';
import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import type { SaleDescription } from '../payments/sale/gate.ts';
import { toInputSchema, toMainInputSchema } from '../mcp/tool-schemas.ts';

/** Describes the operations that are sold by x402, for terms, catalogues and documents. */
export const describeSales = (
  operations: readonly Operation[],
  {
    serviceName,
    models = [],
    services,
  }: {
    serviceName: string;
    /** The SKUs that wallets can buy. */
    models?: readonly ModelConfig[];
    services: () => Services;
  },
): SaleDescription[] =>
  operations.flatMap((operation) => {
    const { name, title, rest, tool } = operation;
    const sale = offerOf(operation.sale);
    if (sale === null) return [];
    const main = toMainInputSchema(operation);
    const { isCredit, isPrepaid, isSignIn } = rulesOf(sale);
    return [
      {
        name,
        serviceName,
        tags: sale.tags,
        title,
        descriptions: { real: sale.description, sandbox: sale.sandbox.description },
        notice: () => noticeOf(sale, services()),
        unit: sale.unit.one,
        path: rest.path,
        method: rest.method === 'GET' ? 'GET' : 'POST',
        toolName: tool === null ? null : name,
        inputSchemas: {
          rest: sale.inputSchema ?? { ...(main ?? toInputSchema(operation, 'rest')) },
          mcp: sale.inputSchema ?? { ...(main ?? toInputSchema(operation)) },
        },
        inputExample: soldExample(operation, sale.example.input, models),
        outputExample: sale.example.output,
        pricing: sale.pricing,
        isCredit,
        isFree: isSignIn,
        offersSignIn: isCredit && !isPrepaid,
        price: () => (isOnSale(sale, services()) ? sale.priceRange(services()) : null),
        items: () => sale.items?.(services()) ?? null,
      },
    ];
  });
