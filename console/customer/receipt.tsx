import { toText, toWords } from '../format.ts';
import { JobLink } from '../parts/history.tsx';
import { Facts, PrintButton, Shown, Title, type Fact } from '../parts/parts.tsx';
import { useLoad } from '../use-console.ts';

type Receipt = Readonly<Record<string, unknown>> & { id: string; type: string };

const hidden = new Set(['receipt', 'currency', 'payment']);

const factsOf = (receipt: object): Fact[] =>
  Object.entries(receipt)
    .filter(([name]) => !hidden.has(name))
    .map(([name, value]) => [toWords(name), toText(name, value)]);

/** What something cost, and why, as the gateway signed it. */
export const ReceiptPage = ({ id }: { id: string }) => {
  const loaded = useLoad<Receipt>(`v1/receipts/${encodeURIComponent(id)}`);
  return (
    <>
      <Title aside={<PrintButton />}>Receipt</Title>
      <Shown
        loaded={loaded}
        missing="There is no receipt: it is of another account, or this gateway writes none."
      >
        {(receipt) => (
          <>
            <Facts facts={factsOf(receipt)} />
            {receipt.type === 'job' && (
              <p>
                The job: <JobLink id={receipt.id} />
              </p>
            )}
            {typeof receipt['payment'] === 'object' && receipt['payment'] !== null && (
              <section>
                <h2>Payment</h2>
                <Facts facts={factsOf(receipt['payment'])} />
              </section>
            )}
            <details>
              <summary>Signed receipt</summary>
              <pre tabIndex={0}>{JSON.stringify(receipt, null, 2)}</pre>
            </details>
          </>
        )}
      </Shown>
    </>
  );
};
