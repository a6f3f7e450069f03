import { isOnSale, sellsBalanceBeside } from '../operations/is-on-sale.ts';
import type { Operation, Services } from '../operations/operation.ts';
import type { SaleDescription } from '../purchases/x402/x402-gate.ts';
import { toInputSchema, toMainInputSchema } from './tool-schemas.ts';

/** Describes the operations that are sold by x402, for terms and catalogues. */
export const describeSales = (
  operations: readonly Operation[],
  { serviceName, services }: { serviceName: string; services: () => Services },
): SaleDescription[] =>
  operations.flatMap((operation) => {
    const { name, title, rest, tool } = operation;
    const sale = operation.sale?.x402;
    if (sale === undefined) return [];
    return [
      {
        name,
        serviceName,
        tags: sale.tags,
        title,
        descriptions: { real: sale.description, sandbox: sale.sandbox.description },
        isSandbox: () => sale.isSandbox(services(), null),
        isOnSale: () => isOnSale(sale, services()),
        unit: sale.unit.one,
        path: rest.path,
        method: rest.method === 'GET' ? 'GET' : 'POST',
        toolName: tool === null ? null : name,
        inputSchema: { ...(toMainInputSchema(operation) ?? toInputSchema(operation)) },
        inputExample: sale.example.input,
        outputExample: sale.example.output,
        pricing: sale.pricing,
        isFree: sellsBalanceBeside(sale),
        offersSignIn: sale.isCredit === true && operation.sale?.prepaid === undefined,
        price: () => sale.priceRange(services()),
      },
    ];
  });
