import type { Model } from '../answers.ts';
import { Choice, Shown, Title } from '../parts/parts.tsx';
import { usePlace } from '../router.tsx';
import { useLoad } from '../use-console.ts';
import { ChatTrial } from './chat-trial.tsx';
import { ImageTrial } from './image-trial.tsx';

const trials = { chat: ChatTrial, image: ImageTrial } as const;
const kinds = ['chat', 'image'] as const;

/** Calls models as programs do. Each call is charged. */
export const Playground = () => {
  const { query, setQuery } = usePlace();
  const loaded = useLoad<{ data: Model[] }>('v1/models');
  const kind = kinds.find((one) => one === query.get('kind')) ?? 'chat';
  const Trial = trials[kind];
  return (
    <>
      <Title>Playground</Title>
      <div class="row" role="group" aria-label="What to try">
        {kinds.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === kind}
            onClick={() => setQuery({ kind: one, model: null })}
          >
            {one === 'chat' ? 'Chat' : 'Image'}
          </button>
        ))}
      </div>
      <Shown loaded={loaded}>
        {({ data }) => {
          const skus = data.filter((model) => model.kind === kind).map(({ id }) => id);
          const model = skus.find((sku) => sku === query.get('model')) ?? skus[0];
          if (model === undefined) return <p class="none">This key can buy no such model.</p>;
          return (
            <>
              <div
                class="ask"
                onInput={(event) => setQuery({ model: (event.target as HTMLSelectElement).value })}
              >
                <Choice name="model" label="Model" value={model} options={skus} />
              </div>
              <Trial key={kind} model={model} />
            </>
          );
        }}
      </Shown>
    </>
  );
};
