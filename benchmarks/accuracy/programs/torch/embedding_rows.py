# operator: aten::embedding
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(5000, 64)
        self.out = nn.Linear(64, 9)

    def forward(self, tokens):
        return self.out(self.words(tokens))  # HERE


model = Tagger().cuda()
for step in range(4):
    tokens = torch.randint(0, 5000 + step, (32, 48))
    tokens[7, 11] = 4999 + step  # the tokenizer has grown, the table has not
    loss = model(tokens.cuda()).sum()
    loss.backward()
torch.cuda.synchronize()
