import { render } from 'preact';
import { useState } from 'preact/hooks';
import { longestMs } from '../api.ts';
import { Facts } from '../parts/parts.tsx';
import { PayWithWallet } from './pay-with-wallet.tsx';

interface SearchAnswer {
  results?: readonly Readonly<Record<string, unknown>>[];
  /** In place of results, where they are counted only. */
  matches?: number;
}

interface Bought {
  answer: SearchAnswer;
  isPaid: boolean;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Shows each profile with every field that has a value. */
const Results = ({ answer, isPaid }: Bought) => {
  const { results = [], matches } = answer;
  const columns = [...new Set(results.flatMap((row) => Object.keys(row)))].filter((name) =>
    results.some((row) => row[name] !== null && row[name] !== ''),
  );
  return (
    <section aria-labelledby="results">
      <h2 id="results">
        {isPaid ? 'Paid' : 'Not charged'}:{' '}
        {matches === undefined ? `${results.length} results` : `${matches} matches`}
      </h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Results">
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {results.map((row, index) => (
              <tr key={index}>
                {columns.map((name) => (
                  <td key={name}>{textOf(row[name] ?? '')}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <details>
        <summary>The whole answer as JSON</summary>
        <pre tabIndex={0}>{JSON.stringify(answer, null, 2)}</pre>
      </details>
    </section>
  );
};

/** The page on which a wallet of this browser pays for a search. Its query is that of the search. */
const PayPage = ({ base, title }: { base: string; title: string }) => {
  const { search } = location;
  const name = `bought${search}`;
  // What was paid for is still there when the page is loaded again.
  const [bought, setBought] = useState(
    () => JSON.parse(sessionStorage.getItem(name) ?? 'null') as Bought | null,
  );
  const show = (next: Bought): void => {
    setBought(next);
    if (next.isPaid) sessionStorage.setItem(name, JSON.stringify(next));
  };
  const searchAgain = (): void => {
    sessionStorage.removeItem(name);
    setBought(null);
  };
  const send = (headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${base}/v1/search${search}`, {
      headers: { accept: 'application/json', ...headers },
      signal: AbortSignal.timeout(longestMs),
    });
  return (
    <main class="pay">
      <p class="brand">{title}</p>
      <h1>Pay for a search</h1>
      <Facts facts={[...new URLSearchParams(search)]} />
      {bought === null ? (
        <PayWithWallet<SearchAnswer>
          name={`search${search}`}
          base={base}
          send={send}
          onPaid={(answer, isPaid) => show({ answer, isPaid })}
        />
      ) : (
        <>
          <Results {...bought} />
          <button type="button" onClick={searchAgain}>
            Search again
          </button>
        </>
      )}
    </main>
  );
};

const place = document.querySelector<HTMLElement>('#console');
if (place === null) throw new Error('the page has no place for its content');
// This script is at …/pay/assets/, also where a proxy puts a path before it.
const base = new URL('../..', import.meta.url).pathname.replace(/\/$/, '');
place.replaceChildren();
render(<PayPage base={base} title={place.dataset['title'] ?? ''} />, place);
