import { isOnSale, sellsBalanceBeside } from '../operations/is-on-sale.ts';
import type { Operation, Services } from '../operations/operation.ts';
import type { SaleDescription } from '../purchases/x402/x402-gate.ts';
import { toInputSchema, toMainInputSchema } from './tool-schemas.ts';

/** Describes the operations that are sold by x402, for terms, catalogues and documents. */
export const describeSales = (
  operations: readonly Operation[],
  { serviceName, services }: { serviceName: string; services: () => Services },
): SaleDescription[] =>
  operations.flatMap((operation) => {
    const { name, title, rest, tool } = operation;
    const sale = operation.sale?.x402;
    if (sale === undefined) return [];
    const isMadeUp = (): boolean => sale.isSandbox(services(), null);
    return [
      {
        name,
        serviceName,
        tags: sale.tags,
        title,
        goods: sale.description,
        description: () => (isMadeUp() ? sale.sandbox.description : sale.description),
        notice: () => (isMadeUp() ? sale.sandbox.notice : null),
        unit: sale.unit.one,
        path: rest.path,
        method: rest.method === 'GET' ? 'GET' : 'POST',
        toolName: tool === null ? null : name,
        inputSchema: { ...(toMainInputSchema(operation) ?? toInputSchema(operation)) },
        inputExample: sale.example.input,
        outputExample: sale.example.output,
        pricing: sale.pricing,
        isCredit: sale.isCredit === true,
        isFree: sellsBalanceBeside(sale),
        offersSignIn: sale.isCredit === true && operation.sale?.prepaid === undefined,
        price: () => (isOnSale(sale, services()) ? sale.priceRange(services()) : null),
      },
    ];
  });
